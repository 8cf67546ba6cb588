package exec

import (
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A fetch whose rows are all wanted looks up several records at a time, which
// costs the store much less than one by one. Batches grow, so that whoever looks
// at the first rows only does not wait for many.
const (
	batchFirst = 4
	batchMost  = 64
)

// readAhead is a batch of rows with their records. Its slices are in step.
type readAhead struct {
	page page
	keys [][]byte
	mem  []byte // of keys
	keep []bool // rows that the filter let pass
	at   int
	size int
	end  bool  // the input has ended
	err  error // what the input ended with
	emit func(i int, value []byte) error
	env  *mql.Env
}

// aheads is the memory of batches that are done with: with it a query of a hundred
// documents allocates nothing for them.
var aheads = sync.Pool{New: func() any { return new(readAhead) }}

// recycle gives the memory of a batch back, whose rows are not used again.
func (a *readAhead) recycle() {
	if cap(a.page.mem) > pageBytes {
		return
	}
	clear(a.page.rows[:cap(a.page.rows)])
	clear(a.keys[:cap(a.keys)])
	*a = readAhead{page: page{rows: a.page.rows[:0], mem: a.page.mem[:0]}, keys: a.keys[:0], mem: a.mem[:0], keep: a.keep[:0]}
	aheads.Put(a)
}

func (f *fetch) nextOfBatch(env *mql.Env) (*Row, error) {
	if f.ahead == nil {
		f.ahead = aheads.Get().(*readAhead)
		f.ahead.size, f.ahead.emit = batchFirst, f.take
	}
	a := f.ahead
	for {
		for a.at < len(a.page.rows) {
			i := a.at
			a.at++
			if a.keep[i] {
				f.Returned++
				return &a.page.rows[i], nil
			}
		}
		if a.end {
			f.Done = a.err == nil
			return nil, a.err
		}
		if err := f.fill(env); err != nil {
			return nil, err
		}
	}
}

// fill reads the next batch. What the input ends with is told after the rows
// before it.
func (f *fetch) fill(env *mql.Env) error {
	a := f.ahead
	a.page.rows, a.page.mem, a.keys, a.mem, a.keep, a.at = a.page.rows[:0], a.page.mem[:0], a.keys[:0], a.mem[:0], a.keep[:0], 0
	for len(a.page.rows) < a.size {
		if len(a.page.rows) > 0 && !f.src.Trial.has(1+fetchCost) {
			break // the rows at hand may be all that the trial waits for
		}
		r, err := f.in.Next(env)
		if err == nil && r != nil {
			err = f.src.Trial.spend(fetchCost)
		}
		if err != nil && env.Interrupted() != nil {
			return err // not kept: it ends this command, and the next one may go on
		}
		if r == nil || err != nil {
			a.end, a.err = true, err
			break
		}
		f.Works++
		a.page.rows = append(a.page.rows, a.page.copy(r))
		a.keep = append(a.keep, false)
		a.addKey(f.src.Coll.ID, r)
	}
	a.env = env
	err := f.src.Reader.GetMany(env.Context(), a.keys, a.emit)
	a.size = min(2*a.size, batchMost)
	if n := len(a.page.mem); n > 0 && len(a.keys) > 0 { // large documents: fewer at a time
		a.size = max(1, min(a.size, pageBytes/(n/len(a.keys)+1)))
	}
	return err
}

// take looks at the i-th record of the batch.
func (f *fetch) take(i int, value []byte) error {
	a := f.ahead
	r, doc := &a.page.rows[i], bson.Raw(value)
	switch {
	case r.Doc != nil: // it came with its record: the key was not needed
		doc = r.Doc
	case value == nil: // never at one snapshot; validate reports it
		return nil
	default:
		f.DocsExamined++
		a.env.Meter.Loaded(r.Shard, len(doc), f.node.Predicates)
		if err := a.env.Row(len(doc)); err != nil {
			return err
		}
	}
	if f.node.Filter != nil {
		if f.node.Computed {
			a.env.Meter.Add(r.Shard, ratelimit.ComputedTest, 1)
		}
		if ok, err := f.filter.matches(a.env, f.node.Filter, doc); !ok || err != nil {
			return err
		}
	}
	if r.Doc == nil {
		r.Doc = a.page.own(value)
	}
	a.keep[i] = true
	return nil
}

// addKey appends the key of a row's record.
func (a *readAhead) addKey(id keyspace.CollectionID, r *Row) {
	if cap(a.mem)-len(a.mem) < len(r.ID)+32 {
		a.mem = make([]byte, 0, max(2*cap(a.mem), 1<<10)+len(r.ID)) // keys before stay where they are
	}
	n := len(a.mem)
	a.mem = keyspace.AppendRecord(a.mem, id, r.Hash, r.ID)
	a.keys = append(a.keys, a.mem[n:len(a.mem):len(a.mem)])
}
