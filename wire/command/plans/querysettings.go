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

// querySetting holds the settings of one query shape. Immutable.
type querySetting struct {
	hash     string   // of the shape
	query    bson.Raw // one of its queries; nil if only the hash was given
	shape    bson.Raw // nil without query
	settings bson.Raw

	allowed []plan.Allowed // from settings
	reject  bool
	cap     ratelimit.MicroRU // of a read of the shape; 0 for none
	rule    ratelimit.RunawayRule
	expires int64 // the time from which on the settings have no effect, in milliseconds since 1970; 0 for never
}

// newQuerySetting evaluates the settings once for all queries of the shape.
func newQuerySetting(hash string, query, shape, settings bson.Raw) *querySetting {
	q := &querySetting{hash: hash, query: query, shape: shape, settings: settings, reject: settings.Get("reject").Truthy()}
	runaway, _ := settings.Get("runaway").Doc()
	q.cap, q.rule = command.RequestUnitsOf(runaway.Get("maxRequestUnits")), command.RunawayOf(runaway)
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

// append appends the settings of one shape.
func (q *querySetting) append(b *bson.Builder) {
	b.String("queryShapeHash", q.hash)
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
}

// newSettingsTable builds the table for readers.
func newSettingsTable(list []*querySetting) *settingsTable {
	t := &settingsTable{list: list, byHash: map[string]*querySetting{}, namespaces: map[collection.Namespace]bool{}}
	for _, q := range list {
		t.byHash[q.hash] = q
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
	list, _ := doc.Get("list").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		hash, _ := d.Get("queryShapeHash").Str()
		query, _ := d.Get("representativeQuery").Doc()
		shape, _ := d.Get("shape").Doc()
		settings, _ := d.Get("settings").Doc()
		all = append(all, newQuerySetting(hash, query, shape, settings))
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

// of returns the settings for the shape of a read, whose hash is given; nil if there are none. A pipeline that shows
// query settings never has any: otherwise settings that reject it would be hidden.
func (s *querySettings) of(x *explained.Explained, hash string, now time.Time) *querySetting {
	t := s.table.Load()
	if t == nil {
		return nil
	}
	if x.Pipeline != nil && x.Pipeline.First != nil && x.Pipeline.First.NoSettings {
		return nil
	}
	if q := t.byHash[hash]; q != nil && !q.expired(now) {
		return q
	}
	return nil
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
	q := s.querySettings.of(x, shapeHash(shape), c.Cluster.Now())
	if q == nil {
		return nil
	}
	if q.reject {
		return mongoerr.New(mongoerr.QueryRejectedBySettings, "the query settings of shape %s reject this query: see setQuerySettings", q.hash)
	}
	c.Op.Allowed = q.allowed
	c.CapByQuerySettings(x.Ns, q.cap, q.rule)
	return nil
}

// runSetQuerySettings stores settings for a query shape. The given fields are merged into the existing settings of
// the shape.
// Manual: reference/command/setQuerySettings.
func (s *State) runSetQuerySettings(c *command.Call) error {
	var change bson.Raw
	err := c.ReadArgs(arguments.By("settings", func(v bson.Value) (err error) {
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
	hash, query, shape, err := shapeOrHash(c, mayHaveSettings)
	if err != nil {
		return err
	}
	q, err := s.putSettings(c.Ctx, hash, query, shape, change)
	if err != nil {
		return err
	}
	q.append(c.Reply)
	return nil
}

// putSettings stores settings for a query shape, whose given fields are merged into the existing ones, and returns the result.
// Settings that have expired are removed.
func (s *State) putSettings(ctx context.Context, hash string, query, shape, change bson.Raw) (q *querySetting, err error) {
	err = s.querySettings.Change(ctx, func() (bson.Raw, error) {
		list := s.querySettings.unexpired(s.Cluster.Now())
		at := slices.IndexFunc(list, func(q *querySetting) bool { return q.hash == hash })
		merged, query, shape := change, query, shape
		if at >= 0 {
			merged = mergedSettings(list[at].settings, change)
			if query == nil {
				query, shape = list[at].query, list[at].shape
			}
		}
		settings, err := effectiveSettings(merged)
		if err != nil {
			return nil, err
		}
		q = newQuerySetting(hash, query, shape, settings)
		if at >= 0 {
			list[at] = q
		} else {
			list = append(list, q)
		}
		return printQuerySettings(list)
	})
	return q, err
}

// runRemoveQuerySettings removes the settings of a query shape; it also succeeds if the shape has none.
// Manual: reference/command/removeQuerySettings.
func (s *State) runRemoveQuerySettings(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	hash, _, _, err := shapeOrHash(c, nil)
	if err != nil {
		return err
	}
	return s.querySettings.Change(c.Ctx, func() (bson.Raw, error) {
		list := s.querySettings.all()
		at := slices.IndexFunc(list, func(q *querySetting) bool { return q.hash == hash })
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
