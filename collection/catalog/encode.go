package catalog

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

func encodeDatabase(d *Database) []byte {
	b := bson.NewBuilder(nil)
	b.String("name", d.Name)
	appendThroughput(b, d.Throughput)
	appendPlanned(b, d.Planned)
	return b.Doc()
}

func decodeDatabase(value []byte) (*Database, error) {
	r, err := bson.Parse(value, bson.Limits{})
	if err != nil {
		return nil, err
	}
	d := &Database{Throughput: decodeThroughput(r), Planned: decodePlanned(r)}
	d.Name, _ = r.Get("name").Str()
	return d, nil
}

func appendThroughput(b *bson.Builder, t Throughput) {
	if t == (Throughput{}) {
		return
	}
	b.BeginDoc("throughput")
	b.String("mode", string(t.Mode))
	b.Int64("ru", t.RU)
	b.Int64("highest", t.HighestRU)
	t.Switches.append(b)
	b.End()
}

func decodeThroughput(r bson.Raw) (t Throughput) {
	d, ok := r.Get("throughput").Doc()
	if !ok {
		return t
	}
	mode, _ := d.Get("mode").Str()
	t.Mode = ThroughputMode(mode)
	t.RU, _ = d.Get("ru").Int64()
	t.HighestRU, _ = d.Get("highest").Int64()
	t.Switches = decodeSwitches(d)
	return t
}

// encodeCollection encodes a catalog entry as the BSON document that is stored. decodeCollection ignores unknown
// fields, so later versions may add some.
func encodeCollection(c *Collection) []byte {
	b := bson.NewBuilder(nil)
	b.String("db", c.Namespace.DB)
	b.String("coll", c.Namespace.Coll)
	b.Int64("id", int64(c.ID))
	b.Binary("uuid", 4, c.UUID[:])
	b.Int64("version", int64(c.Version))
	b.Raw("options", c.Options.Raw)
	appendCollator(b, c.Options.Collation)
	b.Int64("nextIndex", int64(c.NextIndex))
	appendThroughput(b, c.Throughput)
	appendPlanned(b, c.Planned)
	appendShares(b, c.Shares)
	appendZones(b, c.Zones)
	if c.Unmerged {
		b.Bool("unmerged", true)
	}
	if c.Unbalanced {
		b.Bool("unbalanced", true)
	}
	if c.Frozen {
		b.Bool("frozen", true)
	}
	if c.Rewriting != nil {
		b.BeginDoc("rewriting")
		b.Raw("command", c.Rewriting.Command)
		b.Int32("runs", int32(c.Rewriting.Runs))
		b.End()
	}
	if c.Sharded() {
		b.Raw("key", c.Key.Spec())
		b.Int64("seed", int64(c.Key.Seed()))
	}
	if c.Map != nil {
		b.Raw("map", c.Map.Encode())
	}
	b.BeginArray("indexes")
	for _, ix := range c.Indexes {
		b.BeginDoc("")
		b.Int64("id", int64(ix.ID))
		b.String("state", string(ix.State))
		if ix.Staged { // older programs treat it as an index that createIndexes builds
			b.Bool("staged", true)
		}
		appendCollator(b, ix.Collation)
		appendKeys(b, ix)
		b.BeginDoc("spec")
		ix.Append(b)
		b.End()
		b.BeginDoc("multikey")
		ix.Multikey.Append(b)
		b.End()
		b.End()
	}
	b.End()
	return b.Doc()
}

func decodeCollection(env *mql.Env, value []byte) (*Collection, error) {
	r, err := bson.Parse(value, bson.Limits{Bytes: 64 << 20})
	if err != nil {
		return nil, err
	}
	if err := checkForms(r); err != nil {
		return nil, err
	}
	c := &Collection{Throughput: decodeThroughput(r), Planned: decodePlanned(r), Shares: decodeShares(r), Zones: decodeZones(r)}
	c.Unbalanced, _ = r.Get("unbalanced").Boolean()
	c.Frozen, _ = r.Get("frozen").Boolean()
	c.Unmerged, _ = r.Get("unmerged").Boolean()
	if d, ok := r.Get("rewriting").Doc(); ok {
		command, _ := d.Get("command").Doc()
		c.Rewriting = &Rewriting{command.Clone(), int(number(d, "runs"))}
	}
	c.Namespace = collection.Namespace{DB: text(r, "db"), Coll: text(r, "coll")}
	c.ID = keyspace.CollectionID(number(r, "id"))
	_, uuid, _ := r.Get("uuid").Binary()
	copy(c.UUID[:], uuid)
	c.Version = uint64(number(r, "version"))
	c.NextIndex = keyspace.IndexID(number(r, "nextIndex"))
	options, _ := r.Get("options").Doc()
	if c.Options, err = ParseOptions(env, options, collator(r)); err != nil {
		return nil, fmt.Errorf("options of %s: %w", c.Namespace, err)
	}
	if key, ok := r.Get("key").Doc(); ok {
		if c.Key, err = shard.ParseKeyPattern(key); err != nil {
			return nil, fmt.Errorf("shard key of %s: %w", c.Namespace, err)
		}
		c.Key = c.Key.WithSeed(uint64(number(r, "seed")))
	}
	if m, ok := r.Get("map").Doc(); ok {
		if c.Map, err = shard.Decode(m); err != nil {
			return nil, fmt.Errorf("shard map of %s: %w", c.Namespace, err)
		}
	}
	list, _ := r.Get("indexes").Array()
	for v := range list.Values() {
		ix, err := decodeIndex(env, v)
		if err != nil {
			return nil, fmt.Errorf("index of %s: %w", c.Namespace, err)
		}
		if c.Options.Capped && len(c.Indexes) == 0 {
			ix.uniqueID()
		}
		c.Indexes = append(c.Indexes, ix)
	}
	c.held = weigh(c)
	return c, nil
}

func decodeIndex(env *mql.Env, v bson.Value) (*Index, error) {
	d, _ := v.Doc()
	ix := &Index{ID: keyspace.IndexID(number(d, "id")), State: IndexState(text(d, "state"))}
	ix.Staged, _ = d.Get("staged").Boolean()
	spec, _ := d.Get("spec").Doc()
	var err error
	if ix.Spec, err = index.ParseStoredSpec(env, spec, collator(d)); err != nil {
		return nil, err
	}
	multi, _ := d.Get("multikey").Doc()
	ix.Multikey = index.ParseMultikey(multi)
	if keys := int32(number(d, "keys")); keys != ix.Kind.Keys && ix.State != IndexDropping {
		ix.Outdated, ix.KeysVersion, ix.State = true, keys, IndexBuilding
	}
	return ix, nil
}

// appendKeys writes the format version of an index's entries, as the field keys. The first version is not written:
// catalogs from before there were versions lack the field.
func appendKeys(b *bson.Builder, ix *Index) {
	keys := ix.Kind.Keys
	if ix.Outdated {
		keys = ix.KeysVersion
	}
	if keys != 0 {
		b.Int32("keys", keys)
	}
}

// appendCollator writes the version of a collation's rules. FirstCollator is not written.
func appendCollator(b *bson.Builder, c *mql.Collation) {
	if v := c.Version(); c != nil && v != mql.FirstCollator {
		b.Int32("collator", int32(v))
	}
}

func collator(r bson.Raw) mql.CollatorVersion {
	n, _ := r.Get("collator").TruncInt64()
	return mql.CollatorVersion(n)
}

func text(r bson.Raw, name string) string {
	s, _ := r.Get(name).Str()
	return s
}

func number(r bson.Raw, name string) int64 {
	n, _ := r.Get(name).Int64()
	return n
}
