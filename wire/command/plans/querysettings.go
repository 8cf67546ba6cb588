package plans

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// querySetting holds the settings of the reads with one key (watchKey). Immutable, except counts.
type querySetting struct {
	kind     watchKind
	hash     string   // of the key
	query    bson.Raw // one of its queries; nil if only the hash was given
	shape    bson.Raw // nil without query
	settings bson.Raw

	allowed []plan.Allowed // from settings
	reject  bool
	cap     ratelimit.MicroRU // of a read of the shape; 0 for none
	rule    ratelimit.RunawayRule
	expires int64 // the time from which on the settings have no effect, in milliseconds since 1970; 0 for never
	counts  *watchCounts
}

// newQuerySetting evaluates the settings once for all queries. counts are those of the settings that it replaces; nil for none.
func newQuerySetting(k watchKey, settings bson.Raw, counts *watchCounts) *querySetting {
	if counts == nil {
		counts = &watchCounts{}
	}
	q := &querySetting{kind: k.kind, hash: k.hash, query: k.query, shape: k.shape, settings: settings, reject: settings.Get("reject").Truthy(), counts: counts}
	runaway, _ := settings.Get("runaway").Doc()
	q.cap, q.rule = command.RequestUnitsOf(runaway.Get("maxRequestUnits")), command.RunawayOf(runaway)
	q.rule.Counts = &counts.runaways
	q.expires, _ = settings.Get("expireAt").DateTime()
	hints, _ := settings.Get("indexHints").Array()
	for v := range hints.Values() {
		d, _ := v.Doc()
		ns, _ := d.Get("ns").Doc()
		a := plan.Allowed{Namespace: shapeNamespace(ns)}
		list, _ := d.Get("allowedIndexes").Array()
		for v := range list.Values() {
			a.Indexes = append(a.Indexes, v)
		}
		q.allowed = append(q.allowed, a)
	}
	return q
}

// shapeNamespace reads {db, coll}.
func shapeNamespace(d bson.Raw) (ns collection.Namespace) {
	ns.DB, _ = d.Get("db").Str()
	ns.Coll, _ = d.Get("coll").Str()
	return ns
}

// append appends the settings with their key.
func (q *querySetting) append(b *bson.Builder) {
	if q.kind == watchSimilar {
		b.String("queryShapeHash", q.hash)
	} else {
		b.String("queryShapeHash", shapeHash(q.shape))
		b.String("watch", q.kind.String())
		b.String("watchHash", q.hash)
	}
	if q.query != nil {
		b.Raw("representativeQuery", q.query)
	}
	b.Raw("settings", q.settings)
}

// settingsTable holds the settings of all shapes. Immutable.
type settingsTable struct {
	list       []*querySetting // in the order in which they were first set
	byHash     map[string]*querySetting
	namespaces map[collection.Namespace]bool // of the queries
	nameless   bool                          // there is a setting without a query
	kinds      [watchKinds]bool              // of the settings
}

// newSettingsTable builds the table for readers.
func newSettingsTable(list []*querySetting) *settingsTable {
	t := &settingsTable{list: list, byHash: map[string]*querySetting{}, namespaces: map[collection.Namespace]bool{}}
	for _, q := range list {
		t.byHash[q.hash] = q
		t.kinds[q.kind] = true
		if q.shape == nil {
			t.nameless = true
			continue
		}
		d, _ := q.shape.Get("cmdNs").Doc()
		t.namespaces[shapeNamespace(d)] = true
	}
	return t
}

// querySettings holds the query settings of all shapes, which survive a restart. It is safe for concurrent use:
// readers use one immutable table, and writers replace that table.
// Manual: reference/command/setQuerySettings.
type querySettings struct {
	savedsettings.Setting
	table atomic.Pointer[settingsTable]
}

// querySettingsName is the name of the stored setting.
const querySettingsName = "querySettings"

// applyStoredQuerySettings applies the stored setting.
func (s *State) applyStoredQuerySettings(doc bson.Raw) {
	var all []*querySetting
	was := map[string]*querySetting{}
	if t := s.querySettings.table.Load(); t != nil {
		was = t.byHash
	}
	list, _ := doc.Get("list").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		k := watchKey{kind: watchSimilar}
		k.hash, _ = d.Get("queryShapeHash").Str()
		if kind, ok := d.Get("watch").Str(); ok {
			k.kind = watchKindNamed(kind)
			k.hash, _ = d.Get("watchHash").Str()
		}
		k.query, _ = d.Get("representativeQuery").Doc()
		k.shape, _ = d.Get("shape").Doc()
		settings, _ := d.Get("settings").Doc()
		counts := (*watchCounts)(nil)
		if q := was[k.hash]; q != nil {
			counts = q.counts
		}
		all = append(all, newQuerySetting(k, settings, counts))
	}
	before := s.querySettings.all()
	s.querySettings.table.Store(newSettingsTable(all))
	for _, list := range [][]*querySetting{before, all} {
		for _, q := range list {
			s.forgetPlans(q)
		}
	}
}

// all returns the current settings.
func (s *querySettings) all() []*querySetting {
	if t := s.table.Load(); t != nil {
		return t.list
	}
	return nil
}

// unexpired returns a copy of the current settings, without those that have expired.
func (s *querySettings) unexpired(now time.Time) []*querySetting {
	return slices.DeleteFunc(slices.Clone(s.all()), func(q *querySetting) bool { return q.expired(now) })
}

// printQuerySettings returns the document in which the store keeps all query settings.
// Errors: BSONObjectTooLarge (10334) for more settings than a document can hold.
func printQuerySettings(list []*querySetting) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	b.BeginArray("list")
	for _, q := range list {
		b.BeginDoc("")
		q.append(b)
		if q.shape != nil {
			b.Raw("shape", q.shape)
		}
		b.End()
	}
	b.End()
	doc := b.Doc()
	if len(doc) > bson.MaxDocumentBytes {
		return nil, mongoerr.DocumentTooLarge(len(doc), bson.MaxDocumentBytes)
	}
	return doc, nil
}

// HasSettings reports whether reads of a collection may have query settings. If not, the shape of a read need not be
// computed.
func (s *State) HasSettings(ns collection.Namespace) bool {
	t := s.querySettings.table.Load()
	return t != nil && (t.nameless || t.namespaces[ns])
}

// expired reports whether the settings have no effect any more.
func (q *querySetting) expired(now time.Time) bool {
	return q.expires != 0 && now.UnixMilli() >= q.expires
}

// querySettingsDocs returns the documents of the stage $querySettings: all query settings.
// Manual: reference/operator/aggregation/querySettings.
func (s *State) querySettingsDocs(_ *cluster.Op, _ collection.Namespace, spec bson.Raw) ([]bson.Raw, error) {
	return s.querySettings.docs(spec.Get("showDebugQueryShape").Truthy(), s.Cluster.Now()), nil
}

// docs describes all settings, with their shapes if debug is true.
func (s *querySettings) docs(debug bool, now time.Time) (out []bson.Raw) {
	for _, q := range s.unexpired(now) {
		b := bson.NewBuilder(nil)
		q.append(b)
		q.counts.append(b)
		if debug && q.shape != nil {
			b.Raw("debugQueryShape", q.shape)
		}
		out = append(out, b.Doc())
	}
	return out
}

// ApplySettings applies to a read the query settings of the read's shape: it limits the indexes that the plan may
// use, or refuses the read.
// Errors: QueryRejectedBySettings (411).
func (s *State) ApplySettings(c *command.Call, x *explained.Explained) error {
	shape, err := queryShape(c, x)
	if err != nil {
		return nil // the read itself returns the error
	}
	m := s.querySettings.of(c, x, shape)
	for _, q := range m {
		if q != nil && q.reject {
			q.counts.rejected.Add(1)
			return mongoerr.New(mongoerr.QueryRejectedBySettings, "the query settings of %s %s reject this query: see setQuerySettings", q.kind.thing(), q.hash)
		}
	}
	c.Op.Allowed = m.allowed()
	for _, q := range m {
		if q != nil {
			c.CapByQuerySettings(x.Ns, q.cap, q.rule)
		}
	}
	return nil
}

// runSetQuerySettings stores settings for a query shape, or with the argument watch for a command or a plan cache shape. The given
// fields are merged into the existing settings.
// Manual: reference/command/setQuerySettings.
func (s *State) runSetQuerySettings(c *command.Call) error {
	var change bson.Raw
	watch := ""
	err := c.ReadArgs(arguments.Enum("watch", &watch, command.WatchKinds...), arguments.By("settings", func(v bson.Value) (err error) {
		d, ok := v.Doc()
		if !ok {
			return mongoerr.WrongType(c.Field("settings"), v.Type.String(), "object")
		}
		change, err = settingsArg(c, d)
		return err
	}).Required())
	if err != nil {
		return err
	}
	k, err := keyOrHash(c, watch, mayHaveSettings)
	if err != nil {
		return err
	}
	q, err := s.putSettings(c.Ctx, k, change)
	if err != nil {
		return err
	}
	q.append(c.Reply)
	return nil
}

// putSettings stores settings for a key, whose given fields are merged into the existing ones, and returns the result.
// Settings that have expired are removed.
func (s *State) putSettings(ctx context.Context, k watchKey, change bson.Raw) (q *querySetting, err error) {
	err = s.querySettings.Change(ctx, func() (bson.Raw, error) {
		list := s.querySettings.unexpired(s.Cluster.Now())
		at := slices.IndexFunc(list, func(q *querySetting) bool { return q.hash == k.hash })
		merged, key := change, k
		if at >= 0 {
			merged = mergedSettings(list[at].settings, change)
			if key.query == nil {
				key = list[at].key()
			}
		}
		settings, err := effectiveSettings(merged)
		if err != nil {
			return nil, err
		}
		q = newQuerySetting(key, settings, nil)
		if at >= 0 {
			list[at] = q
		} else {
			list = append(list, q)
		}
		return printQuerySettings(list)
	})
	return q, err
}

// runRemoveQuerySettings removes the settings of a query shape, or with the argument watch those of a command or a plan cache
// shape; it also succeeds if there are none.
// Manual: reference/command/removeQuerySettings.
func (s *State) runRemoveQuerySettings(c *command.Call) error {
	watch := ""
	if err := c.ReadArgs(arguments.Enum("watch", &watch, command.WatchKinds...)); err != nil {
		return err
	}
	k, err := keyOrHash(c, watch, nil)
	if err != nil {
		return err
	}
	return s.querySettings.Change(c.Ctx, func() (bson.Raw, error) {
		list := s.querySettings.all()
		at := slices.IndexFunc(list, func(q *querySetting) bool { return q.hash == k.hash })
		if at < 0 {
			return nil, nil
		}
		return printQuerySettings(slices.Delete(slices.Clone(list), at, at+1))
	})
}

// forgetPlans drops the cached plans of the collections in the settings.
func (s *State) forgetPlans(q *querySetting) {
	for _, a := range q.allowed {
		if coll := s.Cluster.Catalog().Collection(a.Namespace); coll != nil {
			s.Cluster.Plans.Clear(coll, nil)
		}
	}
}
