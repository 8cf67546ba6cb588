package shards

import (
	"context"
	"maps"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// A zone is a set of ranges of shard keys that have partitions of their own, with their own shares of the throughput.
// It does not decide where data is stored. The shards that a client assigns to a zone are only stored, and every
// partition in a range of the zone counts as one of its shards. Manual: core/zone-sharding.

// zoneShards holds the zones that addShardToZone has created, each with its shards. It is safe for concurrent use.
type zoneShards struct {
	savedsettings.Setting
	shards map[string][]string // shards by zone
}

// zonesName is the name of the stored setting.
const zonesName = "zones"

// apply applies the stored setting.
func (z *zoneShards) apply(doc bson.Raw) {
	z.shards = map[string][]string{}
	list, _ := doc.Get("zones").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		zone, _ := d.Get("zone").Str()
		shards, _ := d.Get("shards").Array()
		for v := range shards.Values() {
			name, _ := v.Str()
			z.shards[zone] = append(z.shards[zone], name)
		}
	}
}

// change replaces the shards of one zone by those that fn returns, and stores that; a zone without shards is removed.
func (z *zoneShards) change(ctx context.Context, zone string, fn func(shards []string) []string) error {
	return z.Change(ctx, func() (bson.Raw, error) {
		next := maps.Clone(z.shards)
		if next == nil {
			next = map[string][]string{}
		}
		if next[zone] = fn(slices.Clone(next[zone])); len(next[zone]) == 0 {
			delete(next, zone)
		}
		b := bson.NewBuilder(nil)
		b.BeginArray("zones")
		for _, name := range slices.Sorted(maps.Keys(next)) {
			b.BeginDoc("")
			b.String("zone", name)
			b.BeginArray("shards")
			for _, s := range next[name] {
				b.String("", s)
			}
			b.End()
			b.End()
		}
		b.End()
		return b.Doc(), nil
	})
}

// of lists the shards of a zone.
func (z *zoneShards) of(zone string) []string {
	z.Lock()
	defer z.Unlock()
	return slices.Clone(z.shards[zone])
}

// tags returns the names of the zones of a shard: those to which a client has assigned it, and those in whose ranges
// partitions with its number are.
func (s *State) tags(shard string) []string {
	seen := map[string]bool{}
	s.zones.Lock()
	for zone, shards := range s.zones.shards {
		if slices.Contains(shards, shard) {
			seen[zone] = true
		}
	}
	s.zones.Unlock()
	s.Cluster.Catalog().EachSharded(func(coll *catalog.Collection) {
		for _, d := range coll.Map.Shards() {
			if zone := coll.ZoneOf(d); zone != "" && command.ShardName(d.ID) == shard {
				seen[zone] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(seen))
}

// tagDocs returns the documents of config.tags: the ranges of zones.
func (s *State) tagDocs() (docs []bson.Raw) {
	s.Cluster.Catalog().EachSharded(func(coll *catalog.Collection) {
		for _, z := range coll.Zones {
			docs = append(docs, tagDoc(coll.Namespace, ddl.ZoneRange{Name: z.Name, Min: coll.Key.Bound(z.Lo, bson.MinKey), Max: coll.Key.Bound(z.Hi, bson.MaxKey)}))
		}
	})
	for _, z := range s.planned.list(s.isSharded) {
		docs = append(docs, tagDoc(z.ns, z.ZoneRange))
	}
	return docs
}

// tagDoc returns the document of a range in config.tags.
func tagDoc(ns collection.Namespace, z ddl.ZoneRange) bson.Raw {
	b := bson.NewBuilder(nil)
	b.BeginDoc("_id")
	b.String("ns", ns.String())
	b.Raw("min", z.Min)
	b.End()
	b.String("ns", ns.String())
	b.Raw("min", z.Min)
	b.Raw("max", z.Max)
	b.String("tag", z.Name)
	return b.Doc()
}

// parseZone reads the arguments of addShardToZone and removeShardFromZone.
func (s *State) parseZone(c *command.Call) (shard, zone string, err error) {
	if c.Value.Type != bson.TypeString {
		return "", "", mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string")
	}
	shard, _ = c.Value.Str()
	err = c.ReadArgs(arguments.String("zone", &zone))
	if err == nil && zone == "" {
		err = mongoerr.MissingField(c.Field("zone"))
	}
	if err != nil {
		return "", "", err
	}
	_, err = s.shardNamed(shard)
	return shard, zone, err
}

// zoneActions lists two privilege actions, of which a user needs one to change zones.
var zoneActions = []string{"update", "enableSharding"}

// parseZoneChange returns the function Parse of a command that changes zones. Zones belong to the cluster, so the
// privilege to shard collections of one database is not enough: the user needs update on config.shards, or
// enableSharding on the cluster. Manual: reference/command/addShardToZone#security.
func parseZoneChange(run func(c *command.Call) error) func(c *command.Call) (command.Request, error) {
	return func(*command.Call) (command.Request, error) {
		return command.NewRequest(func(q *command.PrivilegeCheck) {
			if !q.May(auth.Update, collection.Namespace{DB: "config", Coll: "shards"}) {
				q.NeedOnCluster(auth.EnableSharding)
			}
		}, run), nil
	}
}

// runAddShardToZone answers addShardToZone. Manual: reference/command/addShardToZone.
func (s *State) runAddShardToZone(c *command.Call) error {
	shard, zone, err := s.parseZone(c)
	if err != nil {
		return err
	}
	return s.zones.change(c.Ctx, zone, func(shards []string) []string {
		if slices.Contains(shards, shard) {
			return shards
		}
		return append(shards, shard)
	})
}

// runRemoveShardFromZone removes a shard from a zone. As long as the zone has ranges, its last shard cannot be
// removed. Manual: reference/command/removeShardFromZone.
// Errors: ZoneStillInUse (163).
func (s *State) runRemoveShardFromZone(c *command.Call) error {
	shard, zone, err := s.parseZone(c)
	if err != nil {
		return err
	}
	if now := s.zones.of(zone); len(now) == 1 && now[0] == shard {
		used := ""
		c.Cluster.Catalog().EachSharded(func(coll *catalog.Collection) {
			for _, z := range coll.Zones {
				if z.Name == zone {
					used = coll.Namespace.String()
				}
			}
		})
		for _, z := range s.planned.list(s.isSharded) {
			if z.Name == zone {
				used = z.ns.String()
			}
		}
		if used != "" {
			return mongoerr.New(mongoerr.ZoneStillInUse, "shard %s is the only one of zone %s, in which ranges of %s lie: remove those first", shard, zone, used)
		}
	}
	return s.zones.change(c.Ctx, zone, func(shards []string) []string {
		return slices.DeleteFunc(shards, func(other string) bool { return other == shard })
	})
}

// runUpdateZoneKeyRange assigns a range of shard keys to a zone; with zone null it removes the range from its zone.
// The collection need not be sharded, or exist, yet. Manual: reference/command/updateZoneKeyRange.
// Errors: ZoneNotFound (177).
func (s *State) runUpdateZoneKeyRange(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	var min, max bson.Raw
	zone, given := "", false
	err = c.ReadArgs(
		arguments.Doc("min", &min).Required(),
		arguments.Doc("max", &max).Required(),
		arguments.By("zone", func(v bson.Value) (err error) {
			given = true // also if it is null
			zone, err = c.StringArg("zone", v)
			return err
		}).WithNull(),
	)
	switch {
	case err != nil:
		return err
	case !given:
		return mongoerr.MissingField(c.Field("zone"))
	case zone != "" && len(s.zones.of(zone)) == 0:
		return mongoerr.New(mongoerr.ZoneNotFound, "zone %s does not exist; addShardToZone makes it", zone)
	}
	if !s.isSharded(ns) {
		return s.planned.set(c.Ctx, plannedZone{ns, ddl.ZoneRange{Name: zone, Min: min, Max: max}})
	}
	return c.Server.DDL.SetZone(&c.Op, ns, min, max, zone)
}
