package balance

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/cantledb/cantle/collection/shard"
)

// Policy determines when shards split and merge.
type Policy struct {
	ShardBytes int64 // bytes; a shard with more splits; 0 = never by size
	ShardRU    int64 // RU/s of one shard; 0 = never by throughput
	// LogicalBytes is the maximum size of one shard key value, see Collection.LimitsValues; 0 = any.
	LogicalBytes int64
	// Merge joins neighbours that together stay below MergePercent of ShardBytes and of ShardRU.
	Merge bool
	// MergePercent bounds the size and load of a merged shard: both are below this percentage of ShardBytes and
	// ShardRU; 0 = 40.
	MergePercent int64
	// ShardsMax bounds the shards of one collection, except for splits at zones; 0 = shard.ShardsMax.
	ShardsMax int
}

// Loads holds the loads of a collection.
type Loads struct {
	RUs    int64 // provisioned for the whole collection; 0 = unlimited
	Shards map[shard.ID]Load
	Bounds []shard.Position // required boundaries of shards, ascending
}

// Load is the load of one shard.
type Load struct {
	Docs, Bytes int64
	RUs         int64 // used per second, recently
}

// Kind is the kind of an Action.
type Kind uint8

// The kinds of actions.
const (
	Split Kind = iota
	Merge
)

// Action is one change of a shard map.
type Action struct {
	Kind  Kind
	Shard shard.ID
	With  shard.ID       // Merge: the neighbour on the right
	At    shard.Position // Split: the boundary; nil = in halves
	Why   string
}

// String prints the action for logs.
func (a Action) String() string {
	if a.Kind == Merge {
		return fmt.Sprintf("merge %v and %v: %s", a.Shard, a.With, a.Why)
	}
	return fmt.Sprintf("split %v: %s", a.Shard, a.Why)
}

// Decide returns the shards to split, most urgent first, or, if there are none and the policy merges, those to merge.
// No shard occurs twice, so the actions may be carried out in any order. Shards that have not settled are left alone.
func Decide(m *shard.Map, l Loads, p Policy) []Action {
	if m.Kind() == shard.Unsharded {
		return nil
	}
	most := shard.ShardsMax
	if p.ShardsMax > 0 {
		most = min(most, p.ShardsMax)
	}
	out := splits(m, l, p, most)
	if p.Merge && len(out) == 0 {
		out = merges(m, l, p)
	}
	return out
}

// splits returns actions that split the shards in which a zone begins or ends, those that are too large, and as many
// more as the RU/s of the collection require. Only splits for zones may make more than most shards.
func splits(m *shard.Map, l Loads, p Policy, most int) (out []Action) {
	var list []*shard.Descriptor
	for _, d := range m.Shards() {
		if at := boundInside(d, l.Bounds); at != nil && d.Settled() {
			out = append(out, Action{Kind: Split, Shard: d.ID, At: at, Why: "a zone begins or ends there"})
			continue
		}
		able := l.Shards[d.ID].Docs > 1 // a ranged shard can only be halved by its documents
		if m.Kind() != shard.Ranged {
			_, able = d.Middle()
		}
		if able && d.Settled() {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *shard.Descriptor) int {
		x, y := l.Shards[a.ID], l.Shards[b.ID]
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(width(b), width(a)))
	})
	need := need(l, p)
	for _, d := range list {
		n := m.Len() + len(out)
		if n >= most {
			break
		}
		load := l.Shards[d.ID]
		switch {
		case p.ShardBytes > 0 && load.Bytes > p.ShardBytes && load.Docs > 1:
			out = append(out, Action{Kind: Split, Shard: d.ID, Why: fmt.Sprintf("%d bytes, the limit is %d", load.Bytes, p.ShardBytes)})
		case n < need:
			out = append(out, Action{Kind: Split, Shard: d.ID, Why: fmt.Sprintf("%d RU/s need %d shards, there are %d", l.RUs, need, n)})
		}
	}
	return out
}

// boundInside returns the first required boundary inside a shard.
func boundInside(d *shard.Descriptor, bounds []shard.Position) shard.Position {
	for _, p := range bounds {
		if d.Contains(p) && !bytes.Equal(p, d.Lo) {
			return p
		}
	}
	return nil
}

// need returns how many shards the provisioned RU/s require.
func need(l Loads, p Policy) int {
	if l.RUs <= 0 || p.ShardRU <= 0 {
		return 1
	}
	return shard.Count(l.RUs, p.ShardRU)
}

// width returns the number of hashes that a shard owns, less one: between shards of equal size, the widest splits
// first.
func width(d *shard.Descriptor) uint64 {
	lo, hi := d.Hashes()
	return uint64(hi - lo)
}

// merges returns actions that merge neighbouring shards which together are small and have little load, unless a zone
// begins or ends between them or the RU/s require as many shards.
func merges(m *shard.Map, l Loads, p Policy) (out []Action) {
	percent := cmp.Or(p.MergePercent, 40)
	n, floor := m.Len(), need(l, p)
	shards := m.Shards()
	for i := 0; i+1 < len(shards) && n > floor; i++ {
		a, b := shards[i], shards[i+1]
		x, y := l.Shards[a.ID], l.Shards[b.ID]
		cold := p.ShardRU <= 0 || (x.RUs+y.RUs)*100 < p.ShardRU*percent
		small := p.ShardBytes <= 0 || (x.Bytes+y.Bytes)*100 < p.ShardBytes*percent
		apart := slices.ContainsFunc(l.Bounds, func(p shard.Position) bool { return bytes.Equal(p, b.Lo) })
		if a.Settled() && b.Settled() && cold && small && !apart {
			out = append(out, Action{Kind: Merge, Shard: a.ID, With: b.ID, Why: fmt.Sprintf("together %d bytes", x.Bytes+y.Bytes)})
			n--
			i++
		}
	}
	return out
}
