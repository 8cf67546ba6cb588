package exec

import (
	"bytes"
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage/keyspace"
)

// An index delivers rows in the order of its keys, so a fetch reads their records at places that are far apart: about
// ten times the work of a scan for each. If no operator above needs that order (plan.Fetch.AnyOrder), many rows are put
// into the order in which records are stored. The fetch then finds the next record a few steps behind the last one
// (readBySteps), and a row costs a third. What is read, and charged, stays the same.
const (
	// orderedAfter is the number of rows that are delivered in the order of the index first, so that small results
	// keep this order.
	orderedAfter = 1024
	// orderedMin is the least number of rows of a run, also if other commands have taken all memory.
	orderedMin = 1024
	// orderedBytesMax bounds the memory of the rows that are put in order at a time.
	orderedBytesMax = 32 << 20
)

// recordOrder delivers rows without documents in the order of their records, a run at a time. It reads a run before it
// delivers the first row of it.
type recordOrder struct {
	in     Operator
	src    Source
	passed int64 // rows delivered in the order of the input

	memory *mql.Memory // limit of the run; nil before the first one
	mem    []byte      // hash and id of each record of the run
	places []recordPlace
	at     int
	sorted bool // the run is complete
	row    Row
}

// recordPlace is the place of a record within mem.
type recordPlace struct{ from, to uint32 }

const (
	placeBytes = 8
	hashBytes  = 8
)

func (o *recordOrder) Next(env *mql.Env) (*Row, error) {
	for {
		switch {
		case o.sorted && o.at < len(o.places):
			return o.deliver(), nil
		case o.sorted:
			o.release()
		case o.passed < orderedAfter || o.src.Trial.limited():
			r, err := o.in.Next(env)
			o.passed++
			return r, err
		}
		if r, err := o.collect(env); r != nil || err != nil || len(o.places) == 0 {
			return r, err
		}
	}
}

// deliver returns the next row of the run.
func (o *recordOrder) deliver() *Row {
	p := o.places[o.at]
	o.at++
	key := o.mem[p.from:p.to]
	o.row = Row{Hash: keyspace.Hash(binary.BigEndian.Uint64(key)), ID: key[hashBytes:], Shard: int(o.src.Shard.ID)}
	return &o.row
}

// collect reads a run, and sorts it. A row that has a document or metadata is returned at once: a further call
// continues the run. After the end of the input, the run is empty.
func (o *recordOrder) collect(env *mql.Env) (*Row, error) {
	if o.memory == nil {
		o.memory = env.Memory.Sibling(orderedBytesMax)
	}
	for {
		r, err := o.in.Next(env)
		if err != nil || r != nil && (r.Doc != nil || r.Meta != nil || r.SortKey != nil) {
			return r, err
		}
		if r == nil {
			break
		}
		from := len(o.mem)
		o.mem = append(r.Hash.Append(o.mem), r.ID...)
		o.places = append(o.places, recordPlace{from: uint32(from), to: uint32(len(o.mem))})
		fits := o.memory.Grow(2*(placeBytes+len(o.mem)-from) + sortRefBytes) // a slice that grows has up to twice its length
		if !fits && len(o.places) >= orderedMin {
			break
		}
	}
	o.at, o.sorted = 0, true
	return nil, o.sort(env)
}

// sort sorts the run.
// Errors: the reason why the command must end; the run is then incomplete.
func (o *recordOrder) sort(env *mql.Env) error {
	if len(o.places) == 0 {
		return nil
	}
	key := func(p *recordPlace) []byte { return o.mem[p.from:p.to] }
	common := key(&o.places[0])
	for i := range o.places {
		k := key(&o.places[i])
		n := 0
		for n < len(common) && n < len(k) && common[n] == k[n] {
			n++
		}
		common = common[:n]
	}
	prefix := func(p *recordPlace) KeyPrefix { return PrefixOf(key(p)[len(common):]) }
	err := SortByKeys(env, o.places, prefix, func(a, b *recordPlace) int { return bytes.Compare(key(a), key(b)) })
	o.sorted = err == nil
	return err
}

// release returns the memory of the run to the command.
func (o *recordOrder) release() {
	if o.memory != nil {
		o.memory.Release()
		o.memory = nil
	}
	o.mem, o.places, o.at, o.sorted = o.mem[:0], o.places[:0], 0, false
}

// Explain prints the input: the order is a property of the fetch above.
func (o *recordOrder) Explain(b *bson.Builder, stats bool) { o.in.Explain(b, stats) }

func (o *recordOrder) Park() (int, bool) {
	n, done := o.in.Park()
	return n + cap(o.mem) + placeBytes*cap(o.places), done
}

func (o *recordOrder) Close() {
	o.release()
	o.mem, o.places = nil, nil
	o.in.Close()
}
