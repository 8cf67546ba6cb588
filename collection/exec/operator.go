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
	// Park lets go, between two rows, of what the operator would find again: iterators
	// and the blocks and files that they hold. What it returned before is not valid any
	// more; the next row is the one that would have come. An operator that holds on to a
	// row of its input copies it first, or leaves its input as it is.
	//
	// Park returns how many bytes remain beyond the memory budget of the command, and
	// false if something below was at work: then it is called again, later.
	Park() (bytes int, done bool)
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
	// Memory is where a read by key may put its document, for whoever copies it before the
	// memory is used again; nil: the document has memory of its own.
	Memory *RowMemory
}

// RowMemory is memory for one document, used again and again.
type RowMemory struct{ buf []byte }

// rowMemoryMax bounds what is kept for the next document.
const rowMemoryMax = 64 << 10

func (m *RowMemory) take() []byte {
	if m == nil {
		return nil
	}
	return m.buf[:0]
}

func (m *RowMemory) give(doc []byte) {
	if m != nil && cap(doc) <= rowMemoryMax {
		m.buf = doc
	}
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

// explainStage prints one stage: its name, what the node says, the counters that every
// stage has, and its inputs.
func explainStage(b *bson.Builder, n plan.Node, c *Counters, stats bool, inputs ...Operator) {
	explainNode(b, n, c, stats)
	explainInputs(b, stats, inputs...)
}

// explainNode is explainStage without the inputs, for operators that have more counters
// to print between the two.
func explainNode(b *bson.Builder, n plan.Node, c *Counters, stats bool) {
	b.String("stage", n.Stage())
	n.Describe(b)
	if stats {
		c.append(b)
	}
}

// appendExamined prints how many keys and documents were looked at.
func (c *Counters) appendExamined(b *bson.Builder) {
	b.Int("keysExamined", c.KeysExamined)
	b.Int("docsExamined", c.DocsExamined)
}

// appendDropped prints how many rows were compared with those before, and how many of
// them had come already.
func (c *Counters) appendDropped(b *bson.Builder, compared int64) {
	b.Int("dupsTested", compared)
	b.Int("dupsDropped", c.Dropped)
}

// explainInputs prints the inputs of a stage.
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
			if plan.IsTooLong(b) {
				break
			}
			b.BeginDoc("")
			in.Explain(b, stats)
			b.End()
		}
		b.End()
	}
}
