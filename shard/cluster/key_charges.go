package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// touchesMax bounds the shard key values that a statement remembers. When it is reached, every
// second one is dropped and each of the others stands for two from then on, and so on.
const touchesMax = 64

// touches holds the shard key values that a statement touches. Afterwards each gets an equal part of the statement's
// charge on its shard, for the statistics of hot keys.
type touches struct {
	list []touch
	keys []byte
	// one and space are the initial memory: most statements have one value.
	one   [1]touch
	space [32]byte
	seen  uint32
	skip  uint32 // a power of two minus one: how many values are left out after each remembered one
}

type touch struct {
	shard    shard.ID
	from, to int // in keys
	bytes    int64
}

func (t *touches) reset() {
	if t.list == nil {
		t.list, t.keys = t.one[:0], t.space[:0]
	}
	t.list, t.keys, t.seen, t.skip = t.list[:0], t.keys[:0], 0, 0
}

// due reports whether the next value is to be remembered.
func (t *touches) due() bool {
	t.seen++
	if (t.seen-1)&t.skip != 0 {
		return false
	}
	if len(t.list) < touchesMax {
		return true
	}
	for i := range touchesMax / 2 {
		t.list[i] = t.list[2*i]
	}
	t.list = t.list[:touchesMax/2]
	t.skip = t.skip<<1 | 1
	return (t.seen-1)&t.skip == 0
}

// touchDoc remembers, if it is due, the shard key value of a document that the statement writes; bytes is the size of
// the new version, 0 for a deletion.
func (o *Op) touchDoc(coll *catalog.Collection, d *shard.Descriptor, doc bson.Raw, bytes int) {
	if o.Unmetered || !coll.Sharded() || !o.touches.due() {
		return
	}
	t := &o.touches
	from := len(t.keys)
	t.keys = coll.Key.AppendLogical(t.keys, doc)
	t.list = append(t.list, touch{d.ID, from, len(t.keys), int64(bytes)})
}

// touchKey remembers the shard key value of a read by _id, where the _id is the shard key; key is its encoded value.
func (o *Op) touchKey(coll *catalog.Collection, d *shard.Descriptor, key []byte) {
	if o.Unmetered || !coll.Sharded() {
		return
	}
	t := &o.touches
	from := len(t.keys)
	t.keys = append(t.keys, key...)
	t.list = append(t.list, touch{d.ID, from, len(t.keys), 0})
}

// touchQuery remembers the shard key value of a read whose filter fixes the shard key to one value.
func (o *Op) touchQuery(q *plan.Query, shards []*shard.Descriptor) {
	if o.Unmetered || !q.Coll.Sharded() || len(shards) != 1 {
		return
	}
	values := make([]bson.Value, 0, 4)
	for _, f := range q.Coll.Key.Fields() {
		v, ok := q.Equal(f.Path.String())
		if !ok {
			return
		}
		values = append(values, v)
	}
	t := &o.touches
	from := len(t.keys)
	t.keys = q.Coll.Key.AppendLogicalOf(t.keys, values)
	t.list = append(t.list, touch{shards[0].ID, from, len(t.keys), 0})
}

// charge divides the statement's charge on each shard since the last call equally among the remembered shard key
// values, and adds the parts to the pool's statistics of hot keys. caller has the origin of the statement.
func (t *touches) charge(pool *ratelimit.Pool, meter *ratelimit.Meter, caller *ratelimit.Caller) {
	if len(t.list) == 0 {
		return
	}
	meter.EachOwnCharge(func(shard int, cost ratelimit.MicroRU) {
		n := int64(0)
		for i := range t.list {
			if int(t.list[i].shard) == shard {
				n++
			}
		}
		for i := range t.list {
			if x := &t.list[i]; int(x.shard) == shard {
				pool.CountKey(shard, t.keys[x.from:x.to], cost/ratelimit.MicroRU(n), x.bytes*int64(t.skip+1), caller)
				x.bytes = 0 // if the stream continues, it only costs
			}
		}
	})
}
