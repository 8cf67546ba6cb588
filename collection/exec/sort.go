package exec

import (
	"bytes"
	"container/heap"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/storage/keyspace"
)

// sorter reads its whole input, then delivers the rows in the order of a sort pattern. With a limit it is a
// top-k sort: it keeps only the first rows, in a heap. When the memory budget is used up, it spills sorted runs
// to disk and merges them, or fails if the command may not.
type sorter struct {
	Counters
	node    *plan.Sort
	in      Operator
	loaded  bool
	rows    []sortRow
	held    int // bytes counted in the budget
	largest topHeap
	at      int
	seq     int64
	keyBuf  []byte
	chunk   []byte // memory of the rows kept last
	runs    *runSet
	env     *mql.Env
	row     Row
	tracked Tracked
	size    int64 // bytes that were sorted and are not in held
}

// sortRow is a kept row: its key and the copied document.
type sortRow struct {
	key   []byte
	doc   bson.Raw
	id    []byte
	meta  bson.Raw
	hash  keyspace.Hash
	shard int
	seq   int64  // number in input order, which makes the sort stable
	mem   []byte // memory of key, doc, id and meta
}

func (r *sortRow) less(o *sortRow) bool {
	c := bytes.Compare(r.key, o.key)
	return c < 0 || c == 0 && r.seq < o.seq
}

func (r *sortRow) size() int { return len(r.key) + len(r.doc) + len(r.id) + len(r.meta) + 120 }

// topHeap is a heap with the largest row at the top.
type topHeap []sortRow

func (h topHeap) Len() int           { return len(h) }
func (h topHeap) Less(i, j int) bool { return h[j].less(&h[i]) }
func (h topHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *topHeap) Push(x any)        { *h = append(*h, x.(sortRow)) }
func (h *topHeap) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

func (s *sorter) Next(env *mql.Env) (*Row, error) {
	if !s.loaded {
		if err := s.load(env); err != nil {
			return nil, err
		}
		s.loaded = true
	}
	if s.node.Limit > 0 && s.Returned >= s.node.Limit {
		s.Done = true
		return nil, nil
	}
	var r *sortRow
	if s.runs != nil {
		var err error
		if r, err = s.runs.next(); err != nil {
			return nil, err
		}
	} else if s.at < len(s.rows) {
		r = &s.rows[s.at]
		s.at++
	}
	if r == nil {
		s.Done = true
		return nil, nil
	}
	s.Returned++
	s.row = Row{Doc: r.doc, ID: r.id, Hash: r.hash, SortKey: r.key, Meta: r.meta, Shard: r.shard}
	return &s.row, nil
}

// load reads the input to its end.
func (s *sorter) load(env *mql.Env) error {
	s.env = env
	err := Drain(env, s.in, func(r *Row) (err error) {
		s.Works++
		if s.keyBuf, err = AppendKey(env, s.node.Pattern, s.keyBuf[:0], r); err != nil {
			return err
		}
		s.seq++
		if s.node.Limit > 0 {
			return s.keepTop(env, r)
		}
		return s.keep(env, r)
	})
	if err != nil {
		return err
	}
	if s.node.Limit > 0 && s.runs == nil {
		s.rows = s.largest
	}
	if err := sortRows(env, s.rows); err != nil {
		return err
	}
	if s.runs != nil {
		if err := s.spill(env); err != nil {
			return err
		}
		return s.runs.start(env)
	}
	return nil
}

// copyRow returns a copy of a row with its sort key. It puts their bytes into mem, or into new memory if mem is
// too small.
func (s *sorter) copyRow(r *Row, mem []byte) sortRow {
	k, d := len(s.keyBuf), len(s.keyBuf)+len(r.Doc)
	i := d + len(r.ID)
	n := i + len(r.Meta)
	if cap(mem) < n {
		mem = make([]byte, 0, n)
	}
	b := append(append(append(append(mem[:0], s.keyBuf...), r.Doc...), r.ID...), r.Meta...)
	out := sortRow{key: b[:k:k], doc: bson.Raw(b[k:d:d]), id: b[d:i:i], hash: r.Hash, shard: r.Shard, seq: s.seq, mem: b}
	if n > i {
		out.meta = bson.Raw(b[i:])
	}
	return out
}

// keepTop keeps the row in the heap of a top-k sort, if it is among the first Limit rows so far.
func (s *sorter) keepTop(env *mql.Env, r *Row) error {
	if int64(len(s.largest)) >= s.node.Limit {
		if bytes.Compare(s.keyBuf, s.largest[0].key) >= 0 {
			return nil
		}
		s.shrink(env, s.largest[0].size())
		s.largest[0] = s.copyRow(r, s.largest[0].mem)
		heap.Fix(&s.largest, 0)
		s.grow(env, s.largest[0].size())
		return nil
	}
	kept := s.copyRow(r, nil)
	heap.Push(&s.largest, kept)
	if !s.grow(env, kept.size()) {
		return s.overflow(env)
	}
	return nil
}

// overflow is called when kept rows exceed the memory budget: it fails if the command may not spill, and spills them
// as a sorted run if Memory.MustSpill requires it. A top-k sort goes on as an external sort; Next stops at the limit.
func (s *sorter) overflow(env *mql.Env) error {
	if !env.Memory.CanSpill() {
		return env.Memory.ExceededError("$sort")
	}
	if !env.Memory.MustSpill(s.held) {
		return nil
	}
	if s.node.Limit > 0 {
		s.rows = append(s.rows, s.largest...)
		s.largest = s.largest[:0]
	}
	return s.spill(env)
}

// chunkFirst, chunkMost and chunkShare are the sizes in bytes of the first chunk of memory for kept rows and of the
// largest one, and the part of a chunk above which a row has its own memory.
const (
	chunkFirst = 1 << 10
	chunkMost  = 64 << 10
	chunkShare = 4
)

// memory returns memory for n bytes of a row. Rows that are kept together share chunks, which costs less than memory for
// each.
func (s *sorter) memory(n int) []byte {
	if n > chunkMost/chunkShare {
		return nil
	}
	if cap(s.chunk)-len(s.chunk) < n {
		s.chunk = make([]byte, 0, max(n, chunkFirst, min(2*cap(s.chunk), chunkMost)))
	}
	at := len(s.chunk)
	s.chunk = s.chunk[:at+n]
	return s.chunk[at : at : at+n]
}

func (s *sorter) keep(env *mql.Env, r *Row) error {
	kept := s.copyRow(r, s.memory(len(s.keyBuf)+len(r.Doc)+len(r.ID)+len(r.Meta)))
	s.rows = append(s.rows, kept)
	if s.grow(env, kept.size()) {
		return nil
	}
	return s.overflow(env)
}

func (s *sorter) grow(env *mql.Env, n int) bool {
	s.held += n
	s.tracked.Hold(s.held)
	return env.Memory.Grow(n)
}

func (s *sorter) shrink(env *mql.Env, n int) {
	s.held -= n
	env.Memory.Shrink(n)
}

// spill writes the kept rows as one sorted run.
func (s *sorter) spill(env *mql.Env) error {
	if s.runs == nil {
		var err error
		if s.runs, err = newRunSet(env.Memory.SpillDir); err != nil {
			return err
		}
	}
	if s.node.Limit > 0 && len(s.largest) > 0 {
		s.rows = append(s.rows, s.largest...)
		s.largest = s.largest[:0]
	}
	if err := sortRows(env, s.rows); err != nil {
		return err
	}
	n, err := s.runs.add(s.rows)
	if len(s.rows) > 0 {
		s.tracked.Spill(env, "$sort", s.held, len(s.rows), n)
		s.size += int64(s.held)
	}
	clear(s.rows)
	s.rows = s.rows[:0]
	s.shrink(env, s.held)
	return err
}

func (s *sorter) Explain(b *bson.Builder, stats bool) {
	explainStage(b, s.node, &s.Counters, stats)
	if stats {
		b.Int("totalDataSizeSorted", s.size+int64(s.held))
		s.tracked.Append(b)
	}
	explainInputs(b, stats, s.in)
}

func (s *sorter) Close() {
	s.in.Close()
	s.size += int64(s.held)
	if s.env != nil && s.held > 0 {
		s.shrink(s.env, s.held)
	}
	s.rows, s.largest, s.chunk = nil, nil, nil
	if s.runs != nil {
		s.runs.close()
		s.runs = nil
	}
	s.loaded = true
}
