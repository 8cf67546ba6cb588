package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Row is one result on its way up. All slices belong to the operator that
// returned it.
type Row struct {
	Doc     bson.Raw      // nil while only the index key is known
	Hash    keyspace.Hash // hash of the record's position
	ID      []byte        // the record's id, catalog.Collection.AppendID; nil for computed rows
	SortKey []byte        // set by operators whose order is asked for
	Values  []byte        // index key values, from an index scan
	Meta    bson.Raw      // what {$meta: …} reads, by name; nil without any
	Shard   int           // number of the shard, for charges
}

// Operator delivers rows.
type Operator interface {
	// Next returns the next row, nil at the end. After an error or the end it
	// may be called again and returns the same.
	// Errors: what env.Tick returns, *mongoerr.Error, storage errors.
	Next(env *mql.Env) (*Row, error)
	// Explain appends the operator's stage, with counters when stats is set, as
	// the fields of an open document.
	Explain(b *bson.Builder, stats bool)
	// Close releases what the operator holds.
	Close()
}

// Source is what operators of one shard read from.
type Source struct {
	Coll   *catalog.Collection
	Shard  *shard.Descriptor
	Reader storage.Reader
	// From is the position at which scans of the records begin.
	From keyspace.Hash
	// Trial bounds the work of a trial run; nil in earnest.
	Trial *trial
}

// Counters is what explain prints of one operator.
type Counters struct {
	Returned     int64
	Works        int64
	KeysExamined int64
	DocsExamined int64
	Seeks        int64
	Dropped      int64 // rows that came before
	Done         bool
}

// append prints the counters that every stage has.
func (c *Counters) append(b *bson.Builder) {
	b.Int("nReturned", c.Returned)
	b.Int32("executionTimeMillisEstimate", 0)
	b.Int("works", c.Works)
	b.Int("advanced", c.Returned)
	b.Int("needTime", max(0, c.Works-c.Returned-1))
	b.Int32("needYield", 0)
	b.Int32("saveState", 0)
	b.Int32("restoreState", 0)
	b.Bool("isEOF", c.Done)
}

// explainStage prints one stage: its name, what the node says, the counters,
// and its inputs.
func explainStage(b *bson.Builder, n plan.Node, c *Counters, stats bool, inputs ...Operator) {
	b.String("stage", n.Stage())
	n.Describe(b)
	if stats {
		c.append(b)
		switch n := n.(type) {
		case *plan.IndexScan:
			b.Int("keysExamined", c.KeysExamined)
			b.Int("seeks", c.Seeks)
			if n.Dedupe {
				b.Int("dupsTested", c.KeysExamined)
				b.Int("dupsDropped", c.Dropped)
			}
			if c.DocsExamined > 0 { // null and missing look alike in a key
				b.Int("docsExamined", c.DocsExamined)
			}
		case *plan.Fetch:
			b.Int("docsExamined", c.DocsExamined)
			b.Int32("alreadyHasObj", 0)
		case *plan.RecordScan:
			if n.Count {
				b.Int("keysExamined", c.KeysExamined)
			} else {
				b.Int("docsExamined", c.DocsExamined)
			}
		case *plan.Or, *plan.SortMerge, *plan.TextOr:
			b.Int("dupsTested", c.Works)
			b.Int("dupsDropped", c.Dropped)
		case *plan.GeoNear:
			b.Int("keysExamined", c.KeysExamined)
			b.Int("docsExamined", c.DocsExamined)
		case *plan.PointRead:
			b.Int("keysExamined", c.KeysExamined)
			b.Int("docsExamined", c.DocsExamined)
		}
	}
	if scan, ok := n.(*plan.RecordScan); ok && scan.ByID != nil && !scan.Count {
		b.BeginDoc("inputStage")
		b.String("stage", scan.ByID.Stage())
		scan.ByID.Describe(b)
		if stats {
			c.append(b)
			b.Int("keysExamined", c.DocsExamined)
			b.Int32("seeks", int32(scan.Seeks))
		}
		b.End()
	}
	explainInputs(b, stats, inputs...)
}

func explainInputs(b *bson.Builder, stats bool, inputs ...Operator) {
	switch len(inputs) {
	case 0:
	case 1:
		b.BeginDoc("inputStage")
		inputs[0].Explain(b, stats)
		b.End()
	default:
		b.BeginArray("inputStages")
		for _, in := range inputs {
			b.BeginDoc("")
			in.Explain(b, stats)
			b.End()
		}
		b.End()
	}
}
