package exec

import (
	"bytes"
	"slices"
	"sort"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A fetch whose rows are all needed, or of which a limit needs the first ones, looks up several records at a time,
// which costs the store much less than single reads. The number of records grows from batchFirst to batchMost, less for
// large documents, so that a caller that reads only the first rows does not wait for many records.
const (
	batchFirst = 4
	batchMost  = 256
)

// readAhead is a batch of rows of a fetch with their records, read by one GetMany. The slices page.rows and keep have
// the same indexes, and so have keys and rows.
type readAhead struct {
	page page
	keys [][]byte
	rows []int32 // of each key its row, after the keys were sorted
	mem  []byte  // memory of keys
	keep []bool  // whether the filter accepted each row
	// ordered reports that the rows came in the order of their records.
	ordered bool
	at      int
	size    int
	end     bool  // the input has ended or failed
	err     error // the error of the input, if it failed
	emit    func(i int, value []byte) error
	env     *mql.Env
}

// aheads holds finished batches of fetches for reuse, so that a query of a hundred documents allocates no
// batch.
var aheads = sync.Pool{New: func() any { return new(readAhead) }}

// recycle returns the memory of a batch to the pool, unless it has grown beyond pageBytes. The rows must not be
// used again.
func (a *readAhead) recycle() {
	if cap(a.page.mem) > pageBytes {
		return
	}
	clear(a.page.rows[:cap(a.page.rows)])
	clear(a.keys[:cap(a.keys)])
	*a = readAhead{page: page{rows: a.page.rows[:0], mem: a.page.mem[:0]}, keys: a.keys[:0], rows: a.rows[:0], mem: a.mem[:0], keep: a.keep[:0]}
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

// fill reads the next batch of rows and their records. The end or an error of the input is stored, and returned after
// the rows read before it; the reason why the command must end is returned immediately.
func (f *fetch) fill(env *mql.Env) error {
	a := f.ahead
	a.page.rows, a.page.mem, a.keys, a.mem, a.keep, a.at = a.page.rows[:0], a.page.mem[:0], a.keys[:0], a.mem[:0], a.keep[:0], 0
	for len(a.page.rows) < a.size {
		if f.node.Rows > 0 && f.Returned+int64(len(a.page.rows)) >= f.node.Rows {
			a.end = true
			break
		}
		if len(a.page.rows) > 0 && !f.src.Trial.has(1+fetchCost) {
			break // the collected rows may be all that the trial needs
		}
		r, err := f.in.Next(env)
		if err == nil && r != nil {
			err = f.src.Trial.spend(fetchCost)
		}
		if err != nil && env.Interrupted() != nil {
			return err // not stored: it ends this command, and the next command may continue
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
	a.sortKeys()
	err := f.readRecords(env)
	a.size = min(2*a.size, batchMost)
	if n := len(a.page.mem); n > 0 && len(a.keys) > 0 { // large documents: smaller batches
		a.size = max(1, min(a.size, pageBytes/(n/len(a.keys)+1)))
	}
	return err
}

// sortKeys sorts the keys, so that the store finds records that lie next to each other in one block, and sets ordered.
func (a *readAhead) sortKeys() {
	a.rows = a.rows[:0]
	for i := range a.keys {
		a.rows = append(a.rows, int32(i))
	}
	if a.ordered = slices.IsSortedFunc(a.keys, bytes.Compare); !a.ordered {
		sort.Sort((*byKey)(a))
	}
}

// byKey sorts the keys of a batch.
type byKey readAhead

func (a *byKey) Len() int           { return len(a.keys) }
func (a *byKey) Less(i, j int) bool { return bytes.Compare(a.keys[i], a.keys[j]) < 0 }
func (a *byKey) Swap(i, j int) {
	a.keys[i], a.keys[j] = a.keys[j], a.keys[i]
	a.rows[i], a.rows[j] = a.rows[j], a.rows[i]
}

// take applies the filter to the record of the row with the i-th key.
func (f *fetch) take(i int, value []byte) error {
	a := f.ahead
	i = int(a.rows[i])
	r, doc := &a.page.rows[i], bson.Raw(value)
	switch {
	case r.Doc != nil: // the row came with its record: the key was not needed
		doc = r.Doc
	case value == nil: // never within one snapshot; validate reports it
		return nil
	default:
		f.DocsExamined++
		if f.met != nil {
			f.met(r.Shard)
		}
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
		r.Doc = a.page.copyIn(value)
	}
	a.keep[i] = true
	return nil
}

// addKey appends the key of a row's record.
func (a *readAhead) addKey(id keyspace.CollectionID, r *Row) {
	if cap(a.mem)-len(a.mem) < len(r.ID)+32 {
		a.mem = make([]byte, 0, max(2*cap(a.mem), 1<<10)+len(r.ID)) // the earlier keys stay in the old memory
	}
	n := len(a.mem)
	a.mem = keyspace.AppendRecord(a.mem, id, r.Hash, r.ID)
	a.keys = append(a.keys, a.mem[n:len(a.mem):len(a.mem)])
}
