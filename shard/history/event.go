package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/keyspace"
)

// eventsMax is how many events are remembered.
const eventsMax = 1000

// Event is a change of how a collection is divided or paid for.
type Event struct {
	At        int64 // seconds since 1970
	Kind      string
	Namespace string
	Text      string
	Parts     []int // the partitions that came of it
}

// The kinds of events.
const (
	Split    = "split"
	Merge    = "merge"
	Reshard  = "reshard"
	Replaced = "replace"
	Scaling  = "scaling"
	Creation = "create"
	Drop     = "drop"
)

// census is the partitions of all collections, as one version of the catalog has them.
type census struct {
	version uint64
	parts   map[ratelimit.Place]*Part
	colls   map[keyspace.CollectionID]*catalog.Collection
}

// take counts anew; partitions that did not change keep their Part.
func (c *census) take(s *catalog.Snapshot) census {
	n := census{version: s.Version, parts: map[ratelimit.Place]*Part{}, colls: map[keyspace.CollectionID]*catalog.Collection{}}
	for _, coll := range s.Collections("") {
		if coll.IsView() || coll.Map == nil {
			continue
		}
		n.colls[coll.ID] = coll
		old := c.colls[coll.ID]
		same := old != nil && old.Map == coll.Map && old.Namespace == coll.Namespace
		for _, d := range coll.Map.Shards() {
			at := ratelimit.Place{Collection: uint64(coll.ID), Shard: int(d.ID)}
			if p := c.parts[at]; same && p != nil {
				n.parts[at] = p
				continue
			}
			n.parts[at] = partOf(coll, d, at)
		}
	}
	return n
}

// partOf describes a partition.
func partOf(coll *catalog.Collection, d *shard.Descriptor, at ratelimit.Place) *Part {
	p := &Part{Place: at, Namespace: coll.Namespace.String(), Sort: string(d.Lo), To: 1}
	if !coll.Sharded() {
		return p
	}
	p.Lo, p.Hi = ejson.String(coll.Key.Bound(d.Lo, bson.MinKey)), ejson.String(coll.Key.Bound(d.Hi, bson.MaxKey))
	if coll.Key.Kind() == shard.Ranged { // values have no distances
		p.To = 0
		return p
	}
	lo, hi := d.Hashes()
	const line = 1 << 64
	p.From, p.To = float64(lo)/line, (float64(hi)+1)/line
	return p
}

// compare lists what happened between two versions of the catalog.
func compare(old, now *census, second int64) (out []Event) {
	for id, coll := range now.colls {
		before := old.colls[id]
		if before == nil {
			if kind, text := origin(old, coll); kind != "" {
				out = append(out, Event{At: second, Kind: kind, Namespace: coll.Namespace.String(), Text: text})
			}
			continue
		}
		if before.Map != coll.Map {
			out = append(out, divided(before, coll, second)...)
		}
		if a, b := throughputText(before.Throughput), throughputText(coll.Throughput); a != b {
			out = append(out, Event{At: second, Kind: Scaling, Namespace: coll.Namespace.String(), Text: "from " + a + " to " + b})
		}
	}
	for id, coll := range old.colls {
		if now.colls[id] == nil && !slices.ContainsFunc(out, func(e Event) bool {
			return (e.Kind == Reshard || e.Kind == Replaced) && e.Namespace == coll.Namespace.String()
		}) {
			out = append(out, Event{At: second, Kind: Drop, Namespace: coll.Namespace.String()})
		}
	}
	slices.SortFunc(out, func(a, b Event) int {
		return strings.Compare(a.Namespace+a.Kind+a.Text, b.Namespace+b.Kind+b.Text)
	})
	return out
}

// origin says how a collection came to be that was not there before: a new one, the rewritten
// form of the one that had its name, or another in its place.
func origin(old *census, coll *catalog.Collection) (kind, text string) {
	for _, o := range old.colls {
		if o.Namespace == coll.Namespace {
			same := o.Sharded() == coll.Sharded() && o.Key.String() == coll.Key.String()
			switch change := "from " + keyText(o) + " to " + keyText(coll); {
			case o.UUID != coll.UUID && same: // restored, renamed, written by $out, or dropped and made within a second
				return Replaced, "another collection has taken its place"
			case o.UUID != coll.UUID:
				return Replaced, "another collection has taken its place, " + change
			case same:
				return Reshard, "rewritten"
			default:
				return Reshard, change
			}
		}
	}
	return Creation, keyText(coll)
}

// keyText names the shard key of a collection.
func keyText(c *catalog.Collection) string {
	if !c.Sharded() {
		return "no shard key"
	}
	return c.Key.String()
}

// throughputText names what a collection is given.
func throughputText(t catalog.Throughput) string {
	if t.Mode == catalog.ThroughputNone || t.RU == 0 {
		if t.Mode == catalog.ThroughputServerless {
			return "serverless"
		}
		return "no limit"
	}
	return fmt.Sprintf("%d RU/s (%s)", t.RU, t.Mode)
}

// divided lists the splits and merges between two maps of a collection.
func divided(before, now *catalog.Collection, second int64) (out []Event) {
	children := map[shard.ID][]int{} // of each parent
	for _, d := range now.Map.Shards() {
		if before.Map.Shard(d.ID) != nil {
			continue
		}
		gone := 0
		for _, p := range d.Parents {
			if now.Map.Shard(p) == nil {
				gone++
			}
			children[p] = append(children[p], int(d.ID))
		}
		if gone > 1 {
			out = append(out, Event{At: second, Kind: Merge, Namespace: now.Namespace.String(), Parts: []int{int(d.ID)},
				Text: fmt.Sprintf("partitions %v became %s", d.Parents, d.ID)})
		}
	}
	for parent, list := range children {
		if !slices.ContainsFunc(out, func(e Event) bool { return e.Kind == Merge && slices.Contains(list, e.Parts[0]) }) {
			slices.Sort(list)
			out = append(out, Event{At: second, Kind: Split, Namespace: now.Namespace.String(), Parts: list,
				Text: fmt.Sprintf("partition %s became %s", parent, strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]"))})
		}
	}
	return out
}
