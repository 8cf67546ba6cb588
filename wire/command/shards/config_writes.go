package shards

import (
	"context"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// Some helpers of mongosh update documents of the config database, which are virtual here. Such an update is applied
// to the state that the document shows: the balancer's state, or noBalance and enableAutoMerge of a collection. Other
// documents of config.settings are stored unchanged.
// Manual: reference/config-database.

// configSettings holds the documents of config.settings, except the balancer's. It is safe for concurrent use.
type configSettings struct {
	savedsettings.Setting
	docs []bson.Raw
}

// configSettingsName is the name of the stored setting.
const configSettingsName = "configSettings"

// configSettingsMax is the maximum number of documents that config.settings can have.
const configSettingsMax = 64

// apply applies the stored setting.
func (x *configSettings) apply(doc bson.Raw) {
	x.docs = nil
	list, _ := doc.Get("docs").Array()
	for v := range list.Values() {
		if d, ok := v.Doc(); ok {
			x.docs = append(x.docs, d)
		}
	}
}

// list returns the documents.
func (x *configSettings) list() []bson.Raw {
	x.Lock()
	defer x.Unlock()
	return slices.Clone(x.docs)
}

// put adds a document or replaces the document with its _id.
func (x *configSettings) put(ctx context.Context, doc bson.Raw) error {
	return x.Change(ctx, func() (bson.Raw, error) {
		next := slices.DeleteFunc(slices.Clone(x.docs), func(d bson.Raw) bool { return bson.Equal(d.Get("_id"), doc.Get("_id"), nil) })
		next = append(next, doc)
		if len(next) > configSettingsMax {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "config.settings holds at most %d documents", configSettingsMax)
		}
		b := bson.NewBuilder(nil)
		b.BeginArray("docs")
		for _, d := range next {
			b.Raw("", d)
		}
		b.End()
		return b.Doc(), nil
	})
}

// UpdateVirtual runs an update of config.settings or config.collections, whose documents are virtual; done is false
// for any other namespace, for a stored collection of that name, and for a delete.
func (s *State) UpdateVirtual(c *command.Call, ns collection.Namespace, m *cluster.Modify) (r cluster.Modified, done bool, err error) {
	if ns.DB != "config" || m.Update == nil || ns.Coll != "settings" && ns.Coll != "collections" || !c.Server.Virtual.Is(ns) {
		return r, false, nil
	}
	docs, _ := c.Server.Virtual.Docs(&c.Op, ns)
	docs, err = match.Keep(c.Env(), docs, m.Find.Filter)
	if err != nil {
		return r, true, err
	}
	var scratch expr.Scratch
	if len(docs) == 0 {
		if !m.Upsert || ns.Coll != "settings" {
			return r, true, nil
		}
		filter, err := match.Parse(c.Env(), m.Find.Filter)
		if err != nil {
			return r, true, err
		}
		doc, err := m.Update.Upsert(c.Env(), filter, &scratch, func() bson.Value { return bson.Null })
		if err != nil {
			return r, true, err
		}
		r.Upserted = doc.Get("_id").Clone()
		return r, true, s.keepConfig(c, ns, doc)
	}
	for _, old := range docs {
		b := bson.NewBuilder(nil)
		res, err := m.Update.Apply(c.Env(), b, old, update.Input{}, &scratch)
		if err != nil {
			return r, true, err
		}
		r.Matched++
		if res.Modified {
			r.Changed++
			if err := s.keepConfig(c, ns, b.Doc()); err != nil {
				return r, true, err
			}
		}
		scratch.Reset()
		if !m.Multi {
			break
		}
	}
	return r, true, nil
}

// keepConfig applies a changed document of the config database.
func (s *State) keepConfig(c *command.Call, ns collection.Namespace, doc bson.Raw) error {
	id, _ := doc.Get("_id").Str()
	switch {
	case ns.Coll == "collections":
		merge := doc.Get("enableAutoMerge")
		return c.Server.DDL.SetBalancing(&c.Op, collection.ParseNamespace(id), doc.Get("noBalance").Truthy(), !merge.IsMissing() && !merge.Truthy())
	case id == "balancer":
		mode, _ := doc.Get("mode").Str()
		return s.switchBalancer(c, doc.Get("stopped").Truthy() || mode == "off")
	}
	return s.settings.put(c.Ctx, doc)
}
