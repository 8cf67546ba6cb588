package agg

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
)

// examined sums what the reads of a stage's foreign collection examined, for explain. It stays empty for a command
// that is not explained.
// Manual: reference/method/cursor.explain (executionStats of $lookup).
type examined struct {
	on                bool // the command is explained
	keys, docs, scans int64
	indexes           []string // names of the indexes used, in the order of their first use
}

// add adds the counters of a read. The read must be closed, so that no goroutine changes its counters.
func (e *examined) add(op exec.Operator) {
	if !e.on {
		return
	}
	b := bson.NewBuilder(nil)
	op.Explain(b, true)
	d := b.Doc()
	e.keys += exec.SumOf(d, "keysExamined")
	e.docs += exec.SumOf(d, "docsExamined")
	e.plan(d)
}

// plan counts the scans of whole collections in a printed plan and collects the names of its indexes.
func (e *examined) plan(d bson.Raw) {
	for it := d.Iter(); it.Next(); {
		text, isText := it.Value.Str()
		switch string(it.Name) {
		case "filter", "indexBounds", "transformBy":
			continue
		case "stage":
			if isText && text == "COLLSCAN" {
				e.scans++
			}
		case "indexName":
			if isText && !slices.Contains(e.indexes, text) {
				e.indexes = append(e.indexes, text)
			}
		}
		if inner, ok := it.Value.Doc(); ok {
			e.plan(inner)
		} else if list, ok := it.Value.Array(); ok {
			e.plan(list)
		}
	}
}

// append prints the sums.
func (e *examined) append(b *bson.Builder) {
	if !e.on {
		return
	}
	b.Int("totalDocsExamined", e.docs)
	b.Int("totalKeysExamined", e.keys)
	b.Int("collectionScans", e.scans)
	b.BeginArray("indexesUsed")
	for _, name := range e.indexes {
		b.String("", name)
	}
	b.End()
}
