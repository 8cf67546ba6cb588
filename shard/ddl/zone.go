package ddl

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
)

// SetZone puts the shard keys from min, inclusive, up to max, exclusive, into a zone, and divides shards at its
// bounds, so that the zone has shards of its own, and with them parts of the throughput. An empty zone removes the
// range with these bounds from its zone.
// Manual: reference/command/updateZoneKeyRange. Errors: NamespaceNotSharded (118),
// BadValue (2), RangeOverlapConflict (178).
func (d *Definer) SetZone(o *cluster.Op, ns collection.Namespace, min, max bson.Raw, zone string) error {
	if err := noTxn(o, ns.DB, "updateZoneKeyRange"); err != nil {
		return err
	}
	err := d.alter(o, func(m *catalog.Mutation) error {
		coll := m.Snapshot().Collection(ns)
		if coll == nil || !coll.Sharded() {
			return mongoerr.New(mongoerr.NamespaceNotSharded, "Collection '%s' is not sharded; zones hold ranges of a shard key", ns)
		}
		within, err := zoneRange(coll.Key, min, max)
		if err != nil {
			return err
		}
		next := slices.Clone(coll.Zones)
		same := func(z catalog.Zone) bool { return bytes.Equal(z.Lo, within.Lo) && bytes.Equal(z.Hi, within.Hi) }
		next = slices.DeleteFunc(next, same)
		if zone != "" {
			for _, z := range next {
				if z.Overlaps(within) {
					return mongoerr.New(mongoerr.RangeOverlapConflict, "Zone range: %s -->> %s is overlapping with existing: %s -->> %s of zone %s",
						min, max, coll.Key.Bound(z.Lo, bson.MinKey), coll.Key.Bound(z.Hi, bson.MaxKey), z.Name)
				}
			}
			next = append(next, catalog.Zone{Name: zone, Range: within})
			slices.SortFunc(next, func(a, b catalog.Zone) int { return bytes.Compare(a.Lo, b.Lo) })
		}
		return m.Put(coll.With(func(d *catalog.Collection) { d.Zones = next }))
	})
	if err != nil {
		return err
	}
	return d.divideAtZones(o, ns)
}

// zoneRange parses the bounds of a zone.
func zoneRange(key shard.KeyPattern, min, max bson.Raw) (r shard.Range, err error) {
	lo, open, err := key.ParseBound(min, false)
	if err != nil {
		return r, err
	}
	hi, end, err := key.ParseBound(max, false)
	if err != nil {
		return r, err
	}
	if open || !end && bytes.Compare(lo, hi) >= 0 {
		return r, mongoerr.New(mongoerr.BadValue, "min: %s should be less than max: %s", min, max)
	}
	return shard.Range{Lo: lo, Hi: hi}, nil
}

// divideAtZones splits shards so that the bounds of a collection's zones are boundaries of shards. The splits that an
// error prevents are made later by the balancer.
func (d *Definer) divideAtZones(o *cluster.Op, ns collection.Namespace) error {
	coll := d.catalog.Peek().Collection(ns)
	if coll == nil {
		return nil
	}
	for _, at := range coll.ZoneBounds() {
		if err := d.divideAt(o, coll, at); err != nil {
			return err
		}
	}
	return nil
}

// divideTries bounds how often divideAt looks up the shard to split, which another split may have replaced.
const divideTries = 5

// divideAt splits a shard so that one begins at a position. The balancer, which may be a peer's, does the same, so the
// shard that was to be divided may be gone: then divideAt looks up the shard anew, at most divideTries times.
func (d *Definer) divideAt(o *cluster.Op, coll *catalog.Collection, at shard.Position) error {
	for try := 1; ; try++ {
		now := d.catalog.Peek().ByID(coll.ID)
		if now == nil || now.Map.FindBegin(at) != nil {
			return nil
		}
		err := d.Jobs.Split(o.Env.Context(), coll.Namespace, now.Map.FindPosition(at).ID, at)
		if try == divideTries || mongoerr.CodeOf(err) != mongoerr.ShardNotFound {
			return err
		}
	}
}

// SetBalancing sets whether the balancer must leave the shards of a collection alone (unbalanced), or must not merge
// them (unmerged).
// Errors: NamespaceNotSharded (118).
func (d *Definer) SetBalancing(o *cluster.Op, ns collection.Namespace, unbalanced, unmerged bool) error {
	return d.alter(o, func(m *catalog.Mutation) error {
		coll := m.Snapshot().Collection(ns)
		if coll == nil || !coll.Sharded() {
			return notSharded(ns)
		}
		return m.Put(coll.With(func(d *catalog.Collection) { d.Unbalanced, d.Unmerged = unbalanced, unmerged }))
	})
}
