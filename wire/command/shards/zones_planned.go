package shards

import (
	"context"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// A client may assign ranges to zones before their collection is sharded or created. shardCollection then applies
// these ranges. They are removed with the collection.
// Manual: reference/command/updateZoneKeyRange.

// plannedZone is a range that a client has assigned to a zone before the range's collection is sharded.
type plannedZone struct {
	ns collection.Namespace
	ddl.ZoneRange
}

// plannedZones holds the zone ranges of all collections that are not sharded. It is safe for concurrent use.
type plannedZones struct {
	savedsettings.Setting
	zones []plannedZone
}

// plannedZonesName is the name of the stored setting, plannedZonesMax the maximum number of ranges of all
// collections.
const (
	plannedZonesName = "plannedZones"
	plannedZonesMax  = 1024
)

// apply applies the stored setting.
func (p *plannedZones) apply(doc bson.Raw) {
	p.zones = nil
	list, _ := doc.Get("ranges").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		ns, _ := d.Get("ns").Str()
		z := plannedZone{ns: collection.ParseNamespace(ns)}
		z.Name, _ = d.Get("zone").Str()
		lo, _ := d.Get("min").Doc()
		hi, _ := d.Get("max").Doc()
		z.Min, z.Max = lo.Clone(), hi.Clone()
		p.zones = append(p.zones, z)
	}
}

// printPlanned returns the document that is stored.
func printPlanned(next []plannedZone) bson.Raw {
	b := bson.NewBuilder(nil)
	b.BeginArray("ranges")
	for _, z := range next {
		b.BeginDoc("")
		b.String("ns", z.ns.String())
		b.Raw("min", z.Min)
		b.Raw("max", z.Max)
		b.String("zone", z.Name)
		b.End()
	}
	b.End()
	return b.Doc()
}

// set assigns a range to a zone, for a collection without a shard key. If the name of the zone is empty, it removes
// the range from its zone.
// Errors: BadValue (2), RangeOverlapConflict (178), IllegalOperation (20) for too many ranges.
func (p *plannedZones) set(ctx context.Context, z plannedZone) error {
	if err := checkPlanned(z.Min, z.Max); err != nil {
		return err
	}
	less := func(a, b bson.Raw) bool { return bson.Compare(a.Value(), b.Value(), nil) < 0 }
	return p.Change(ctx, func() (bson.Raw, error) {
		next := slices.DeleteFunc(slices.Clone(p.zones), func(o plannedZone) bool {
			return o.ns == z.ns && bson.Equal(o.Min.Value(), z.Min.Value(), nil) && bson.Equal(o.Max.Value(), z.Max.Value(), nil)
		})
		if z.Name != "" {
			for _, o := range next {
				if o.ns == z.ns && less(z.Min, o.Max) && less(o.Min, z.Max) {
					return nil, mongoerr.New(mongoerr.RangeOverlapConflict, "Zone range: %s -->> %s is overlapping with existing: %s -->> %s of zone %s",
						z.Min, z.Max, o.Min, o.Max, o.Name)
				}
			}
			next = append(next, z)
		}
		if len(next) > plannedZonesMax {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "collections without a shard key have at most %d ranges in zones altogether", plannedZonesMax)
		}
		return printPlanned(next), nil
	})
}

// checkPlanned refuses a zone range from lo to hi that no shard key could have: different fields, no fields, or lo
// not below hi.
// Errors: BadValue (2).
func checkPlanned(lo, hi bson.Raw) error {
	a, b := lo.Iter(), hi.Iter()
	n := 0
	for ; a.Next(); n++ {
		if !b.Next() || string(a.Name) != string(b.Name) {
			return mongoerr.New(mongoerr.BadValue, "min: %s and max: %s do not have the same fields", lo, hi)
		}
	}
	switch {
	case b.Next():
		return mongoerr.New(mongoerr.BadValue, "min: %s and max: %s do not have the same fields", lo, hi)
	case n == 0:
		return mongoerr.New(mongoerr.BadValue, "min and max name no field of a shard key")
	case bson.Compare(lo.Value(), hi.Value(), nil) >= 0:
		return mongoerr.New(mongoerr.BadValue, "min: %s should be less than max: %s", lo, hi)
	}
	return nil
}

// of returns the ranges of a collection.
func (p *plannedZones) of(ns collection.Namespace) (out []ddl.ZoneRange) {
	p.Lock()
	defer p.Unlock()
	for _, z := range p.zones {
		if z.ns == ns {
			out = append(out, z.ZoneRange)
		}
	}
	return out
}

// list returns all planned ranges, except those of collections that have a shard key now: the command that sharded
// such a collection is about to remove its planned ranges.
func (p *plannedZones) list(sharded func(collection.Namespace) bool) []plannedZone {
	p.Lock()
	defer p.Unlock()
	return slices.DeleteFunc(slices.Clone(p.zones), func(z plannedZone) bool { return sharded(z.ns) })
}

// forget removes the planned ranges of a collection that was dropped or renamed, or that has been sharded and has the
// ranges in its catalog entry.
func (p *plannedZones) forget(ctx context.Context, ns collection.Namespace) error {
	if len(p.of(ns)) == 0 {
		return nil // the usual case
	}
	return p.Change(ctx, func() (bson.Raw, error) {
		next := slices.DeleteFunc(slices.Clone(p.zones), func(z plannedZone) bool { return z.ns == ns })
		if len(next) == len(p.zones) {
			return nil, nil
		}
		return printPlanned(next), nil
	})
}

// isSharded reports whether a collection has a shard key.
func (s *State) isSharded(ns collection.Namespace) bool {
	coll := s.Cluster.Catalog().Collection(ns)
	return coll != nil && coll.Sharded()
}

// Dropped implements command.Sharding.
func (s *State) Dropped(ns collection.Namespace) {
	s.traffic.Forget(func(x collection.Namespace) bool { return x == ns })
	if err := s.planned.forget(context.Background(), ns); err != nil {
		s.Log.Error().Err(err).Stringer("collection", ns).Msg("zones of a dropped collection could not be deleted; a new collection of this name will have them")
	}
	if _, err := s.analyzers.set(context.Background(), ns, nil); err != nil {
		s.Log.Error().Err(err).Stringer("collection", ns).Msg("the query analyzer of a dropped collection could not be deleted; a new collection of this name will have it")
	}
}

// zonesArg reads the argument zones of reshardCollection, [{min, max, zone}], without ranges whose zone is null.
// Errors: TypeMismatch (14), InvalidLength (16), IDLFailedToParse (40414), IDLUnknownField (40415), ZoneNotFound
// (177).
func (s *State) zonesArg(c *command.Call, name string, v bson.Value) ([]ddl.ZoneRange, error) {
	if v.IsMissing() {
		return nil, nil
	}
	list, err := c.DocArray(name, v, plannedZonesMax)
	if err != nil {
		return nil, err
	}
	out := []ddl.ZoneRange{}
	for _, d := range list {
		z := ddl.ZoneRange{}
		given := false
		for it := d.Iter(); it.Next(); {
			field, isNull := name+"."+string(it.Name), it.Value.IsNullish()
			switch string(it.Name) {
			case "min":
				z.Min, err = c.DocArg(field, it.Value)
			case "max":
				z.Max, err = c.DocArg(field, it.Value)
			case "zone":
				if given = true; !isNull {
					z.Name, err = c.StringArg(field, it.Value)
				}
			default:
				err = mongoerr.New(40415, "BSON field '%s' is an unknown field.", c.Field(field))
			}
			if err != nil {
				return nil, err
			}
		}
		switch {
		case z.Min == nil:
			return nil, mongoerr.MissingField(c.Field(name + ".min"))
		case z.Max == nil:
			return nil, mongoerr.MissingField(c.Field(name + ".max"))
		case !given:
			return nil, mongoerr.MissingField(c.Field(name + ".zone"))
		case z.Name == "":
			continue
		case len(s.zones.of(z.Name)) == 0:
			return nil, mongoerr.New(mongoerr.ZoneNotFound, "zone %s does not exist; addShardToZone makes it", z.Name)
		}
		out = append(out, z)
	}
	return out, nil
}
