package agg

import (
	"bytes"
	"container/heap"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// rowSorter sorts documents by keys that the caller gives. Documents with equal keys keep their order. With a
// limit it is a top-k sort: it keeps only the first documents. What exceeds the memory budget is spilled to a
// temporary file.
type rowSorter struct {
	what  string
	limit int64 // 0 = all
	exec.Tracked
	rows  keyedRows
	count int64
	held  int
	runs  *exec.Runs
	env   *mql.Env
	at    int
}

// keyedRow is a kept document.
type keyedRow struct {
	key  []byte
	doc  bson.Raw
	meta bson.Raw
	seq  int64
}

func (r *keyedRow) size() int { return len(r.key) + len(r.doc) + len(r.meta) + 96 }

func compareRows(a, b keyedRow) int {
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	if a.seq < b.seq {
		return -1
	}
	return 1
}

// keyedRows is a heap with the greatest row at the top.
type keyedRows []keyedRow

func (h keyedRows) Len() int           { return len(h) }
func (h keyedRows) Less(i, j int) bool { return compareRows(h[i], h[j]) > 0 }
func (h keyedRows) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *keyedRows) Push(x any)        { *h = append(*h, x.(keyedRow)) }
func (h *keyedRows) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// add copies a document and its metadata, nil for none.
func (s *rowSorter) add(env *mql.Env, key []byte, doc, meta bson.Raw) error {
	s.env = env
	s.count++
	top := s.limit > 0 && s.runs == nil
	full := top && int64(len(s.rows)) >= s.limit
	if full && bytes.Compare(key, s.rows[0].key) >= 0 {
		return nil
	}
	k, d := len(key), len(key)+len(doc)
	all := make([]byte, 0, d+len(meta))
	all = append(append(append(all, key...), doc...), meta...)
	row := keyedRow{key: all[:k:k], doc: bson.Raw(all[k:d:d]), seq: s.count}
	if len(meta) > 0 {
		row.meta = bson.Raw(all[d:])
	}
	grew := row.size()
	switch {
	case full:
		grew -= s.rows[0].size()
		s.rows[0] = row
		heap.Fix(&s.rows, 0)
	case top:
		heap.Push(&s.rows, row)
	default:
		s.rows = append(s.rows, row)
	}
	s.held += grew
	s.Hold(s.held)
	if env.Memory.Grow(grew) || !env.Memory.MustSpill(s.held) {
		return nil
	}
	return s.spill(env)
}

// sort sorts the rows in memory. Errors: the reason why the command must end.
func (s *rowSorter) sort(env *mql.Env) error {
	prefix := func(r *keyedRow) exec.KeyPrefix { return exec.PrefixOf(r.key) }
	return exec.SortByKeys(env, s.rows, prefix, func(a, b *keyedRow) int { return compareRows(*a, *b) })
}

func (s *rowSorter) spill(env *mql.Env) (err error) {
	if s.runs == nil {
		if s.runs, err = exec.NewRuns(env, s.what); err != nil {
			return err
		}
	}
	if err := s.sort(env); err != nil {
		return err
	}
	start := s.runs.Bytes()
	s.runs.Begin()
	for _, r := range s.rows {
		if err := s.runs.Write(r.key, r.doc, r.meta); err != nil {
			return err
		}
	}
	s.Spill(env, s.what, s.held, len(s.rows), s.runs.Bytes()-start)
	clear(s.rows)
	s.rows = s.rows[:0]
	env.Memory.Shrink(s.held)
	s.held = 0
	return nil
}

// finish ends the input.
func (s *rowSorter) finish(env *mql.Env) error {
	if s.runs == nil {
		return s.sort(env)
	}
	if len(s.rows) > 0 {
		if err := s.spill(env); err != nil {
			return err
		}
	}
	return s.runs.Start(env)
}

// next returns the next row in key order; a nil doc at the end. Its slices are valid until the next call. If
// rows were spilled, next may return more rows than the limit.
func (s *rowSorter) next() (key []byte, doc, meta bson.Raw, err error) {
	if s.runs != nil {
		return s.runs.Next()
	}
	if s.at == len(s.rows) {
		return nil, nil, nil, nil
	}
	r := s.rows[s.at]
	s.at++
	return r.key, r.doc, r.meta, nil
}

func (s *rowSorter) close() {
	if s.held > 0 {
		s.env.Memory.Shrink(s.held)
		s.held = 0
	}
	s.rows, s.at = nil, 0
	if s.runs != nil {
		s.runs.Close()
		s.runs = nil
	}
}
