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
)

// eventsMax bounds the number of stored events.
const eventsMax = 1000

// Event is the creation, replacement or end of a collection, or a change of how it is divided or provisioned.
type Event struct {
	At        int64 // seconds since 1970
	Kind      string
	Namespace string
	Text      string
	Parts     []int // the numbers of the partitions that resulted from a Split or Merge
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

// census holds the partitions of all collections at one version of the catalog.
type census struct {
	of    *catalog.Snapshot // nil before the first
	parts map[ratelimit.ShardID]*Part
}

// changes holds the differences between two versions of the catalog.
type changes struct {
	parts   []*Part             // new or changed partitions
	removed []ratelimit.ShardID // of partitions that no longer exist
	events  []Event             // that explain the differences; At is not set yet
}

// take updates the census to a version of the catalog. It visits only the collections that have changed. The
// partitions of a collection whose map and name are unchanged keep their Part.
func (c *census) take(s *catalog.Snapshot) (all changes) {
	old := c.of
	if c.of = s; old == nil {
		old, c.parts = &catalog.Snapshot{}, map[ratelimit.ShardID]*Part{}
	}
	var dropped []*catalog.Collection
	s.Changes(old, func(was, is *catalog.Collection) {
		if was != nil && was.Map == nil {
			was = nil
		}
		if is != nil && is.Map == nil {
			is = nil
		}
		switch {
		case is == nil && was == nil: // a view
			return
		case is == nil:
			dropped = append(dropped, was)
		case was == nil:
			kind, text := origin(old.Collection(is.Namespace), is)
			all.events = append(all.events, Event{Kind: kind, Namespace: is.Namespace.String(), Text: text})
		default:
			// A version between may have had the new collection under another name, as $out makes it.
			if o := old.Collection(is.Namespace); was.Namespace != is.Namespace && o != nil && o.Map != nil {
				kind, text := origin(o, is)
				all.events = append(all.events, Event{Kind: kind, Namespace: is.Namespace.String(), Text: text})
			}
			all.events = append(all.events, altered(was, is)...)
		}
		c.move(was, is, &all)
	})
	for _, coll := range dropped {
		if !slices.ContainsFunc(all.events, func(e Event) bool {
			return (e.Kind == Reshard || e.Kind == Replaced) && e.Namespace == coll.Namespace.String()
		}) {
			all.events = append(all.events, Event{Kind: Drop, Namespace: coll.Namespace.String()})
		}
	}
	slices.SortFunc(all.events, func(a, b Event) int {
		return strings.Compare(a.Namespace+a.Kind+a.Text, b.Namespace+b.Kind+b.Text)
	})
	return all
}

// move removes the partitions of the old version of a collection (was) from the census and adds those of the new one
// (is); either may be nil.
func (c *census) move(was, is *catalog.Collection, all *changes) {
	if was != nil && is != nil && was.Map == is.Map && was.Namespace == is.Namespace {
		return
	}
	if was != nil {
		for _, d := range was.Map.Shards() {
			if is == nil || is.Map.Shard(d.ID) == nil {
				at := placeOf(was, d)
				delete(c.parts, at)
				all.removed = append(all.removed, at)
			}
		}
	}
	if is != nil {
		for _, d := range is.Map.Shards() {
			p := partOf(is, d)
			c.parts[p.Place] = p
			all.parts = append(all.parts, p)
		}
	}
}

func placeOf(coll *catalog.Collection, d *shard.Descriptor) ratelimit.ShardID {
	return ratelimit.ShardID{Collection: uint64(coll.ID), Shard: int(d.ID)}
}

// partOf describes a partition.
func partOf(coll *catalog.Collection, d *shard.Descriptor) *Part {
	p := &Part{Place: placeOf(coll, d), Namespace: coll.Namespace.String(), Sort: string(d.Lo), To: 1}
	if !coll.Sharded() {
		return p
	}
	p.Lo, p.Hi = ejson.String(coll.Key.Bound(d.Lo, bson.MinKey)), ejson.String(coll.Key.Bound(d.Hi, bson.MaxKey))
	if coll.Key.Kind() == shard.Ranged { // distances between values are not defined
		p.To = 0
		return p
	}
	lo, hi := d.Hashes()
	const line = 1 << 64
	p.From, p.To = float64(lo)/line, (float64(hi)+1)/line
	return p
}

// altered lists the events of a collection between two versions of the catalog.
func altered(before, now *catalog.Collection) (out []Event) {
	if before.Map != now.Map {
		out = divided(before, now)
	}
	if a, b := throughputText(before.Throughput), throughputText(now.Throughput); a != b {
		out = append(out, Event{Kind: Scaling, Namespace: now.Namespace.String(), Text: "from " + a + " to " + b})
	}
	return out
}

// origin returns the kind and the text of the event of a collection that was not there before: a new collection, the
// rewritten form of the one that had its name, or another in its place. o is the collection that had the name, nil if
// there was none.
func origin(o, coll *catalog.Collection) (kind, text string) {
	if o == nil || o.Map == nil {
		return Creation, keyText(coll)
	}
	same := o.Sharded() == coll.Sharded() && o.Key.String() == coll.Key.String()
	switch change := "from " + keyText(o) + " to " + keyText(coll); {
	case o.UUID != coll.UUID && same: // restored, renamed, written by $out, or dropped and created within a second
		return Replaced, "another collection has taken its place"
	case o.UUID != coll.UUID:
		return Replaced, "another collection has taken its place, " + change
	case same:
		return Reshard, "rewritten"
	default:
		return Reshard, change
	}
}

// keyText prints the shard key of a collection.
func keyText(c *catalog.Collection) string {
	if !c.Sharded() {
		return "no shard key"
	}
	return c.Key.String()
}

// throughputText prints the provisioned throughput of a collection.
func throughputText(t catalog.Throughput) string {
	if t.Mode == catalog.ThroughputNone || t.RU == 0 {
		if t.Mode == catalog.ThroughputServerless {
			return "serverless"
		}
		return "no limit"
	}
	return fmt.Sprintf("%d RU/s (%s)", t.RU, t.Mode)
}

// divided lists the splits and merges between two shard maps of a collection, as events.
func divided(before, now *catalog.Collection) (out []Event) {
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
			out = append(out, Event{Kind: Merge, Namespace: now.Namespace.String(), Parts: []int{int(d.ID)},
				Text: fmt.Sprintf("partitions %v became %s", d.Parents, d.ID)})
		}
	}
	for parent, list := range children {
		if !slices.ContainsFunc(out, func(e Event) bool { return e.Kind == Merge && slices.Contains(list, e.Parts[0]) }) {
			slices.Sort(list)
			out = append(out, Event{Kind: Split, Namespace: now.Namespace.String(), Parts: list,
				Text: fmt.Sprintf("partition %s became %s", parent, strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]"))})
		}
	}
	return out
}
