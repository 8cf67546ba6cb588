package exec

import (
	"bytes"
	"container/heap"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/plan"
)

// merge delivers the rows of several inputs, each in order of a key, in the order of that key. With a pattern,
// the key of a row is its SortKey; if the input did not set it, merge makes it from the document. Without a
// pattern, the key is the row's index Values.
type merge struct {
	Counters
	node    plan.Node // for explain; nil for a merge of shards
	pattern *order.Pattern
	reverse bool            // Values in descending order
	skip    []keystring.Dir // fields at the start of Values that are not part of the key
	dedupe  bool
	in      []Operator
	heap    mergeHeap
	started bool
	seen    recordSet
}

type mergeInput struct {
	op  Operator
	row *Row
	key []byte
	buf []byte
	at  int // index of the input; rows with equal keys keep the order of the inputs
}

type mergeHeap struct {
	items   []*mergeInput
	reverse bool
}

func (h *mergeHeap) Len() int { return len(h.items) }
func (h *mergeHeap) Less(i, j int) bool {
	c := bytes.Compare(h.items[i].key, h.items[j].key)
	if h.reverse {
		c = -c
	}
	return c < 0 || c == 0 && h.items[i].at < h.items[j].at
}
func (h *mergeHeap) Swap(i, j int) { h.items[i], h.items[j] = h.items[j], h.items[i] }
func (h *mergeHeap) Push(x any)    { h.items = append(h.items, x.(*mergeInput)) }
func (h *mergeHeap) Pop() any {
	x := h.items[len(h.items)-1]
	h.items = h.items[:len(h.items)-1]
	return x
}

// Merge returns an operator that merges the rows of several shards, each in the pattern's order, into this
// order. Its Close closes the inputs.
func Merge(p *order.Pattern, in []Operator) Operator {
	if len(in) == 1 {
		return in[0]
	}
	return &merge{pattern: p, in: in}
}

// newSortMerge returns the operator of a SORT_MERGE plan node. It merges scans of one index by the index fields
// after the fixed ones, other inputs by the sort keys of their documents.
func newSortMerge(n *plan.SortMerge, in []Operator) *merge {
	m := &merge{node: n, pattern: n.Pattern, dedupe: n.Dedupe, in: in}
	if n.Index != nil {
		m.pattern, m.reverse, m.skip = nil, n.Reverse, n.Index.Dirs()[:n.Fields]
	}
	return m
}

func (m *merge) Next(env *mql.Env) (*Row, error) {
	if !m.started {
		m.started = true
		m.heap.reverse = m.reverse
		for i, op := range m.in {
			x := &mergeInput{op: op, at: i}
			ok, err := m.fill(env, x)
			if err != nil {
				return nil, err
			}
			if ok {
				m.heap.items = append(m.heap.items, x)
			}
		}
		heap.Init(&m.heap)
	} else if err := m.advance(env); err != nil {
		return nil, err
	}
	for len(m.heap.items) > 0 {
		r := m.heap.items[0].row
		m.Works++
		fresh := true
		if m.dedupe {
			var err error
			if fresh, err = m.seen.add(env, r); err != nil {
				return nil, err
			}
		}
		if fresh {
			m.Returned++
			return r, nil
		}
		m.Dropped++
		if err := m.advance(env); err != nil {
			return nil, err
		}
	}
	m.Done = true
	return nil, nil
}

// advance reads the next row of the input that delivered the last one. It runs at the next call of Next,
// because a delivered row stays valid until then.
func (m *merge) advance(env *mql.Env) error {
	if len(m.heap.items) == 0 {
		return nil
	}
	ok, err := m.fill(env, m.heap.items[0])
	if err != nil {
		return err
	}
	if ok {
		heap.Fix(&m.heap, 0)
	} else {
		heap.Pop(&m.heap)
	}
	return nil
}

func (m *merge) fill(env *mql.Env, x *mergeInput) (bool, error) {
	r, err := x.op.Next(env)
	if r == nil || err != nil {
		return false, err
	}
	x.row = r
	switch {
	case m.pattern == nil:
		x.key = r.Values
		for _, d := range m.skip {
			n, err := keystring.Skip(x.key, d)
			if err != nil {
				return false, err
			}
			x.key = x.key[n:]
		}
	case r.SortKey != nil:
		x.key = r.SortKey
	default:
		if x.buf, err = AppendKey(env, m.pattern, x.buf[:0], r); err != nil {
			return false, err
		}
		x.key, r.SortKey = x.buf, x.buf
	}
	return true, nil
}

func (m *merge) Explain(b *bson.Builder, stats bool) {
	if m.node == nil {
		m.in[0].Explain(b, stats)
		return
	}
	explainNode(b, m.node, &m.Counters, stats)
	if scan, ok := m.node.(*plan.IndexScan); ok && stats { // partitions of one scan
		appendScanned(b, scan, &m.Counters)
	} else if stats {
		m.appendDropped(b, m.Works)
	}
	explainInputs(b, stats, m.in...)
}

func (m *merge) Close() {
	closeAll(m.in)
	m.seen.release()
}

// keyed sets the sort key of each row.
type keyed struct {
	Counters
	node *plan.SortKey
	in   Operator
	buf  []byte
	ends []int // of the values of an index key, after a 0
}

func (k *keyed) Next(env *mql.Env) (*Row, error) {
	r, err := k.in.Next(env)
	if r == nil || err != nil {
		k.Done = err == nil
		return nil, err
	}
	k.Works++
	if r.Doc == nil && k.node.Fields != nil {
		err = k.fromIndexKey(r.Values)
	} else {
		k.buf, err = AppendKey(env, k.node.Pattern, k.buf[:0], r)
	}
	if err != nil {
		return nil, err
	}
	r.SortKey = k.buf
	k.Returned++
	return r, nil
}

// fromIndexKey sets k.buf to the sort key of the row with these index key values: those of the pattern's fields, with the
// bytes of a value inverted where the directions of index and pattern differ.
func (k *keyed) fromIndexKey(values []byte) error {
	dirs := k.node.Index.Dirs()
	k.ends = append(k.ends[:0], 0)
	for _, d := range dirs {
		at := k.ends[len(k.ends)-1]
		n, err := keystring.Skip(values[at:], d)
		if err != nil {
			return err
		}
		k.ends = append(k.ends, at+n)
	}
	k.buf = k.buf[:0]
	for i, f := range k.node.Fields {
		from := len(k.buf)
		k.buf = append(k.buf, values[k.ends[f]:k.ends[f+1]]...)
		if dirs[f] != k.node.Pattern.Parts[i].Dir {
			for j := from; j < len(k.buf); j++ {
				k.buf[j] = ^k.buf[j]
			}
		}
	}
	return nil
}

// Explain omits the operator, because MongoDB has no such stage.
func (k *keyed) Explain(b *bson.Builder, stats bool) { k.in.Explain(b, stats) }
func (k *keyed) Close()                              { k.in.Close() }
