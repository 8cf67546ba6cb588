package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Row is one result of an operator. All its slices belong to that operator, until its next Next, Park or Close.
type Row struct {
	Doc     bson.Raw      // nil while only the index key has been read
	Hash    keyspace.Hash // hash of the record's position
	ID      []byte        // the record's id, catalog.Collection.AppendID; nil for computed rows
	SortKey []byte        // set by operators whose order is needed
	Values  []byte        // index key values, from an index scan
	Meta    bson.Raw      // values for {$meta: …}, by name; nil without any
	Shard   int           // number of the shard, for charges
}

// Operator delivers rows.
type Operator interface {
	// Next returns the next row, nil at the end. After the end, further calls return nil again.
	// Errors: the reason why the command must end; *mongoerr.Error; storage errors.
	Next(env *mql.Env) (*Row, error)
	// Explain appends the operator's stage, with counters when stats is set, as
	// the fields of an open document.
	Explain(b *bson.Builder, stats bool)
	// Park releases, between two rows, the resources that the operator can open again: iterators, and the
	// blocks and files that they hold. Rows that it returned before become invalid; the next row is the same as
	// without Park. An operator that keeps a row of its input copies the row first, or does not park its input.
	//
	// Park returns the number of bytes that stay in memory outside the memory budget of the command.
	// done is false if an operator below was running: the caller must call Park again later.
	Park() (bytes int, done bool)
	// Close releases what the operator holds.
	Close()
}

// Source holds what the operators of one shard read from.
type Source struct {
	Coll   *catalog.Collection
	Shard  *shard.Descriptor
	Reader storage.Reader
	// From is a lower bound of the positions that a scan of all records reads; other scans ignore it.
	From keyspace.Hash
	// Trial limits the work of a trial run; nil outside of trials.
	Trial *trial
	// Counts holds the exact numbers of documents of shards in the state that Reader reads; nil or without a shard where
	// these are not available.
	Counts map[shard.ID]int64
	// Frontier is that of the collection, if Reader has a state of the store that is not older than the Frontier, and no
	// other server writes to the store; else nil.
	Frontier *write.Frontier
	// Memory is a buffer for the document of a point read. It is for callers that copy the document before the
	// buffer is reused. If Memory is nil, each document has its own memory.
	Memory *RowMemory
}

// RowMemory is a reusable buffer for one document.
type RowMemory struct{ buf []byte }

// rowMemoryMax bounds the buffer that is kept for the next document.
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

// Counters holds the counters that explain prints of one operator.
type Counters struct {
	Returned     int64
	Works        int64
	KeysExamined int64
	DocsExamined int64
	Seeks        int64
	Dropped      int64 // rows dropped as duplicates
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

// explainStage appends one stage to explain: its name, the node's description, with stats the counters that
// every stage has, and its inputs.
func explainStage(b *bson.Builder, n plan.Node, c *Counters, stats bool, inputs ...Operator) {
	explainNode(b, n, c, stats)
	explainInputs(b, stats, inputs...)
}

// explainNode is explainStage without the inputs, for operators that print more counters before the
// inputs.
func explainNode(b *bson.Builder, n plan.Node, c *Counters, stats bool) {
	b.String("stage", n.Stage())
	n.Describe(b)
	if stats {
		c.append(b)
	}
}

// appendExamined prints the numbers of examined keys and documents.
func (c *Counters) appendExamined(b *bson.Builder) {
	b.Int("keysExamined", c.KeysExamined)
	b.Int("docsExamined", c.DocsExamined)
}

// appendDropped appends to explain the number of rows that were compared with earlier ones, and the number
// dropped as duplicates.
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
