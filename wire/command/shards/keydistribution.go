package shards

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/command"
)

// keyRangesMax is the maximum number of ranges of shard key values for which analyzeShardKey counts how many queries
// visit them. It is MongoDB's default of the parameter analyzeShardKeyNumRanges.
const keyRangesMax = 100

// keySeed is the seed of the hashes that a collection sharded by the analyzed key is assumed to have.
const keySeed = 1

// distribution counts sampled queries by the number of partitions to which they would be sent under an analyzed shard
// key.
type distribution struct {
	commands      []string // the commands that are counted, in the order of the reply
	by            map[string]int64
	total         int64
	one, several  int64
	keyUpdates    int64
	single, multi int64 // writes without the whole key
	ranges        []int64
}

// add counts one query.
func (d *distribution) add(name string, coll *catalog.Collection, q sampledQuery) {
	d.by[name]++
	d.total++
	visits := coll.Map.Shards()
	whole := false
	if q.filter != nil {
		rs := coll.Ranges(q.filter, q.byteOrder)
		visits = visits[:0:0]
		for _, r := range rs {
			for _, s := range coll.Map.FindRange(r) {
				if n := len(visits); n == 0 || visits[n-1] != s {
					visits = append(visits, s)
				}
			}
		}
		_, _, whole = coll.EqualPosition(q.filter, q.byteOrder)
		switch {
		case whole:
			d.one++
		case len(rs) != 1 || rs[0].Lo != nil || rs[0].Hi != nil:
			d.several++
		}
	}
	for _, s := range visits {
		i, _ := slices.BinarySearchFunc(coll.Map.Shards(), s.Lo, func(a *shard.Descriptor, lo shard.Position) int { return bytes.Compare(a.Lo, lo) })
		d.ranges[i]++
	}
	switch {
	case whole:
	case q.multi:
		d.multi++
	default:
		d.single++
	}
	if q.changesKey {
		d.keyUpdates++
	}
}

// append writes the distribution of reads or of writes.
func (d *distribution) append(b *bson.Builder, name, what string) {
	b.BeginDoc(name)
	b.BeginDoc("sampleSize")
	b.Int64("total", d.total)
	for _, cmd := range d.commands {
		b.Int64(cmd, d.by[cmd])
	}
	b.End()
	if d.total > 0 {
		percent := func(n int64) float64 { return float64(n*10000/d.total) / 100 }
		b.Double("percentageOfSingleShard"+what, percent(d.one))
		b.Double("percentageOfMultiShard"+what, percent(d.several))
		b.Double("percentageOfScatterGather"+what, percent(d.total-d.one-d.several))
		b.BeginArray("num" + what + "ByRange")
		for _, n := range d.ranges {
			b.Int64("", n)
		}
		b.End()
		if what == "Writes" {
			b.Double("percentageOfShardKeyUpdates", percent(d.keyUpdates))
			b.Double("percentageOfSingleWritesWithoutShardKey", percent(d.single))
			b.Double("percentageOfMultiWritesWithoutShardKey", percent(d.multi))
		}
	}
	b.End()
}

// keyDistributions appends readDistribution and writeDistribution: the number of sampled queries that would be sent
// to one, several or all partitions under the analyzed key.
// Manual: reference/command/analyzeShardKey.
func (s *State) keyDistributions(c *command.Call, coll *catalog.Collection, key shard.KeyPattern) error {
	next, err := withShardKey(c, coll, key.WithSeed(keySeed))
	if err != nil {
		return err
	}
	reads := distribution{commands: []string{"find", "aggregate", "count", "distinct"}}
	writes := distribution{commands: []string{"update", "delete", "findAndModify"}}
	for _, d := range []*distribution{&reads, &writes} {
		d.by, d.ranges = map[string]int64{}, make([]int64, next.Map.Len())
	}
	err = s.eachSample(&c.Op, func(doc bson.Raw) error {
		if _, uuid, _ := doc.Get("collectionUuid").Binary(); !bytes.Equal(uuid, coll.UUID[:]) {
			return nil
		}
		name, _ := doc.Get("cmdName").Str()
		cmd, _ := doc.Get("cmd").Doc()
		def := c.Server.Lookup(name)
		if def == nil || !def.Facts.Has(command.Sampled) {
			return nil // not a sample of this server
		}
		d := &writes
		if def.Kind == command.KindRead {
			d = &reads
		}
		d.add(name, next, parseSample(c, coll, key, def, cmd))
		return nil
	})
	if err != nil {
		return err
	}
	reads.append(c.Reply, "readDistribution", "Reads")
	writes.append(c.Reply, "writeDistribution", "Writes")
	return nil
}

// withShardKey returns the catalog entry that a collection would have with the analyzed shard key. The key is divided
// into up to keyRangesMax ranges: hashes evenly, values at the keys of some documents.
func withShardKey(c *command.Call, coll *catalog.Collection, key shard.KeyPattern) (*catalog.Collection, error) {
	table, err := shard.NewMap(key.Kind(), 1, 1)
	if key.Kind() != shard.Ranged {
		table, err = shard.NewMap(key.Kind(), 1, keyRangesMax)
	}
	if err != nil {
		return nil, err
	}
	if docs := c.Cluster.Counts(coll.ID).Total(coll.Map).Docs; key.Kind() == shard.Ranged && docs > 1 {
		const perRange = 10
		step := max(1, float64(docs)/(keyRangesMax*perRange))
		var found []shard.Position
		err := eachDoc(c, coll, step, func(doc bson.Raw) bool {
			if at, err := key.AppendPosition(nil, doc); err == nil {
				found = append(found, at)
			}
			return len(found) < 2*keyRangesMax*perRange
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(found, func(a, b shard.Position) int { return bytes.Compare(a, b) })
		var bounds []shard.Position
		for i := 1; i < keyRangesMax && len(found) > 0; i++ {
			at := found[i*len(found)/keyRangesMax]
			if last := append([]shard.Position{found[0]}, bounds...); !bytes.Equal(at, last[len(last)-1]) {
				bounds = append(bounds, at)
			}
		}
		if table, err = shard.NewMapAt(shard.Ranged, 1, bounds); err != nil {
			return nil, err
		}
	}
	return coll.With(func(d *catalog.Collection) { d.Key, d.Map, d.Zones, d.Shares = key, table, nil, nil }), nil
}

// sampledQuery holds the parts of a sampled query that decide to which partitions it would be sent.
type sampledQuery struct {
	filter     match.Node // nil without a filter, or if parsing needs the query's variables
	byteOrder  bool       // strings compare byte by byte
	multi      bool
	changesKey bool
}

// parseSample parses a sample.
func parseSample(c *command.Call, coll *catalog.Collection, key shard.KeyPattern, def *command.Def, cmd bson.Raw) (q sampledQuery) {
	part := cmd // the part with the filter and the collation
	if def.Statements != "" {
		list, _ := cmd.Get(def.Statements).Array()
		first, _ := list.Index(0)
		part, _ = first.Doc()
	}
	filter, _ := part.Get("filter").Doc() // of any read
	change := bson.Value{}
	if def.Kind == command.KindWrite {
		filter, _ = def.Query(part)
		if change = part.Get("u"); def.Statements == "" {
			change = part.Get("update")
		}
		limit, _ := part.Get("limit").AsInt64()
		q.multi = part.Get("multi").Truthy() || def.Op == command.OpRemove && limit == 0
	}
	collation, err := mql.ParseCollation(part.Get("collation"))
	if err != nil {
		return q
	}
	if part.Get("collation").IsMissing() {
		collation = coll.Options.Collation
	}
	q.byteOrder = collation == nil
	env := mql.NewEnv(c.Ctx)
	env.NowMillis, env.Collation, env.Release, env.ServerRelease = c.Cluster.Now().UnixMilli(), collation, c.Release(), c.Server.Release
	if let, ok := cmd.Get("let").Doc(); ok {
		_ = expr.DeclareLet(env, let) // without its variables the filter cannot be parsed
	}
	if q.filter, err = match.Parse(env, filter); err != nil {
		q.filter = nil
	} else {
		q.filter = match.Normalize(q.filter)
	}
	q.changesKey = changesKey(key, q.filter, change)
	return q
}

// changesKey reports whether an update changes the shard key of a document, as far as the update itself shows that.
// It has an operator or a stage for which assigns is true, or is a replacement with another value of the key than the
// filter requires.
func changesKey(key shard.KeyPattern, filter match.Node, u bson.Value) bool {
	doc, ok := u.Doc()
	if u.Type == bson.TypeArray {
		stages, _ := u.Array()
		for v := range stages.Values() {
			stage, _ := v.Doc()
			if assigns(key, filter, stage) {
				return true
			}
		}
		return false
	}
	if !ok {
		return false
	}
	if hasOperator(doc) {
		return assigns(key, filter, doc)
	}
	for _, f := range key.Fields() {
		if excludes(filter, f, lookup(doc, f)) {
			return true
		}
	}
	return false
}

// assigns reports whether the operators or the stage ops of an update may change a field of the shard key; false for
// $setOnInsert and a stage $unset.
func assigns(key shard.KeyPattern, filter match.Node, ops bson.Raw) bool {
	for it := ops.Iter(); it.Next(); {
		op := string(it.Name)
		fields, isDoc := it.Value.Doc()
		switch {
		case op == "$setOnInsert":
			continue
		case op == "$replaceWith", op == "$replaceRoot":
			return true
		case op == "$unset" && !isDoc: // the stage
			continue
		}
		for at := fields.Iter(); at.Next(); {
			for _, f := range key.Fields() {
				path := f.Path.String()
				name := string(at.Name)
				if name == path && op == "$set" {
					if v := at.Value; excludes(filter, f, v) || v.Type == bson.TypeString && len(v.Data) > 5 && v.Data[4] == '$' {
						return true
					}
				} else if name == path || isBelow(name, path) || isBelow(path, name) {
					return true
				}
			}
		}
	}
	return false
}

// isBelow reports whether a path is below another path, as a.b is below a.
func isBelow(path, above string) bool {
	return len(path) > len(above) && path[:len(above)] == above && path[len(above)] == '.'
}

// lookup returns the value of a key's field in a document.
func lookup(doc bson.Raw, f shard.Field) bson.Value {
	v := doc.Value()
	for i := range f.Path.Len() {
		d, ok := v.Doc()
		if !ok {
			return bson.Value{}
		}
		v = d.Get(f.Path.Name(i))
	}
	return v
}

// excludes reports whether a filter requires a value other than v for a field of the shard key; false if the filter
// does not restrict the field to single values.
func excludes(filter match.Node, f shard.Field, v bson.Value) bool {
	if filter == nil {
		return false
	}
	values, ok := match.Points(filter, f.Path.String())
	return ok && !slices.ContainsFunc(values, func(w bson.Value) bool { return bson.Equal(v, w, nil) })
}
