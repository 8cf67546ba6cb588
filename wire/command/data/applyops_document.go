package data

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// applyDocument applies an applyOps entry that inserts, updates or deletes a document. An entry may be applied
// repeatedly: an insert replaces a document with the same document key (a measurement of a time series is kept), and
// a delete of a missing document succeeds.
// Errors: NamespaceNotFound (26), NoSuchKey (4), UpdateOperationFailed (218), errors of writes.
func applyDocument(c *command.Call, e *entry, upsert bool) error {
	env := c.Env()
	env.Collation, env.DB = nil, e.ns.DB // each collection has its own collation
	c.Cluster.UseDefaultCollation(&c.Op, e.ns)
	snap := c.Cluster.Catalog()
	if series := snap.Series(e.ns); series != nil {
		return applyBucket(c, e, series)
	}
	coll := snap.Collection(e.ns)
	switch {
	case coll != nil:
	case e.op == "d":
		return nil
	default:
		return mongoerr.New(mongoerr.NamespaceNotFound, "An entry changes a document of %s, which does not exist", e.ns)
	}
	switch e.op {
	case "i":
		return applyInsert(c, e, coll)
	case "u":
		return applyUpdate(c, e, upsert)
	}
	filter, err := keyFilter(e.o)
	if err != nil {
		return err
	}
	_, err = c.Cluster.Modify(&c.Op, e.ns, &cluster.Modify{Find: plan.Find{Filter: filter}})
	return err
}

// applyInsert inserts the document of an applyOps entry, or replaces the document with the same document key, because
// entries may be applied more than once. An existing measurement of a time series is kept.
func applyInsert(c *command.Call, e *entry, coll *catalog.Collection) error {
	if _, ok := e.o.Lookup("_id"); !ok {
		return mongoerr.New(mongoerr.NoSuchKey, "An entry inserts a document without _id into %s", e.ns)
	}
	if coll.Options.TimeSeries != nil {
		if there, err := measurementExists(c, e, coll); there || err != nil {
			return err
		}
	}
	_, errs, err := c.Cluster.Insert(&c.Op, e.ns, []bson.Raw{e.o}, true)
	if err != nil || len(errs) == 0 {
		return err
	}
	if errs[0].Err.Code != mongoerr.DuplicateKey {
		return errs[0].Err
	}
	b := bson.NewBuilder(nil)
	coll.Key.AppendDocumentKey(b, e.o)
	filter, err := keyFilter(b.Doc())
	if err != nil {
		return err
	}
	p, err := update.Parse(c.Env(), e.o.Value(), nil, update.Options{})
	if err != nil {
		return err
	}
	_, err = c.Cluster.Modify(&c.Op, e.ns, &cluster.Modify{Find: plan.Find{Filter: filter}, Update: p, Upsert: true})
	return err
}

// measurementExists reports whether a time-series collection already has the measurement of an entry with the same
// metaField, time and _id, so that applyOps does not insert it twice: a time series has no unique index on _id. With
// a metaField, an index serves the search.
func measurementExists(c *command.Call, e *entry, coll *catalog.Collection) (there bool, err error) {
	b := bson.NewBuilder(nil)
	for _, name := range [...]string{coll.Options.MetaField, coll.Options.TimeField, "_id"} {
		if v, ok := e.o.Lookup(name); ok && name != "" {
			b.BeginDoc(name)
			b.Value("$eq", v)
			b.End()
		}
	}
	err = c.Drain(e.ns, plan.Find{Filter: b.Doc(), Limit: 1}.Stages(), bson.Value{}, func(bson.Raw) error {
		there = true
		return nil
	})
	return there, err
}

// applyUpdate updates the document that o2 names.
func applyUpdate(c *command.Call, e *entry, upsert bool) error {
	if e.o2 == nil {
		return mongoerr.New(mongoerr.FailedToParse, "An entry updates a document of %s without naming it in o2", e.ns)
	}
	filter, err := keyFilter(e.o2)
	if err != nil {
		return err
	}
	p, err := entryProgram(c, e.o)
	if err != nil {
		return err
	}
	r, err := c.Cluster.Modify(&c.Op, e.ns, &cluster.Modify{Find: plan.Find{Filter: filter}, Update: p, Upsert: upsert})
	if err == nil && r.Matched == 0 && r.Upserted.IsMissing() {
		return mongoerr.New(mongoerr.UpdateOperationFailed, "An entry updates a document of %s that does not exist: %s", e.ns, shownEntry(e.o2))
	}
	return err
}

// entryProgram parses the field o of an update entry of an oplog. It is a diff ({$v: 2}), update operators ({$v: 1},
// or without $v in older versions), or a replacement document.
// Errors: FailedToParse (9), errors of update.Parse.
func entryProgram(c *command.Call, o bson.Raw) (*update.Program, error) {
	v, ok := o.Lookup("$v")
	if !ok {
		return update.Parse(c.Env(), o.Value(), nil, update.Options{})
	}
	switch n, _ := v.AsInt64(); n {
	case 2:
		diff, ok := o.Get("diff").Doc()
		if !ok {
			return nil, mongoerr.New(mongoerr.FailedToParse, "An update entry with $v: 2 needs a document diff")
		}
		return update.ParseDiff(diff)
	case 1:
		b := bson.NewBuilder(nil)
		for name, v := range o.Fields() {
			if string(name) != "$v" {
				b.ValueBytes(name, v)
			}
		}
		return update.Parse(c.Env(), b.Doc().Value(), nil, update.Options{})
	}
	return nil, mongoerr.New(mongoerr.FailedToParse, "An update entry has the unknown version $v: %s", v)
}

// keyFilter returns the filter that matches the document with a document key: the _id and the fields of the shard
// key.
// Errors: NoSuchKey (4).
func keyFilter(key bson.Raw) (bson.Raw, error) {
	if _, ok := key.Lookup("_id"); !ok {
		return nil, mongoerr.New(mongoerr.NoSuchKey, "An entry names its document without _id")
	}
	b := bson.NewBuilder(nil)
	for name, v := range key.Fields() {
		b.BeginDocBytes(name)
		b.Value("$eq", v)
		b.End()
	}
	return b.Doc(), nil
}

// applyBucket applies an oplog entry of MongoDB that inserts a bucket of a time series: it inserts the bucket's
// measurements, up to a duplicate key, which is no error. A later change of a bucket cannot be applied, because
// measurements are not stored in buckets here.
// Errors: CommandNotSupported (115).
func applyBucket(c *command.Call, e *entry, series *catalog.Collection) error {
	if e.op != "i" {
		return mongoerr.New(mongoerr.CommandNotSupported, "Only inserts of whole buckets can be applied to %s: measurements are not kept in buckets", e.ns)
	}
	_, errs, err := insertBuckets(c, series, []bson.Raw{e.o}, true)
	if err == nil && len(errs) > 0 && errs[0].Err.Code != mongoerr.DuplicateKey {
		return errs[0].Err
	}
	return err
}

// viewCommand returns the create or drop command that has the effect of an oplog entry on system.views: in oplogs of
// MongoDB, views are documents of that collection.
// Errors: CommandNotSupported (115).
func (e *entry) viewCommand() (bson.Raw, error) {
	s, _ := e.o.Get("_id").Str()
	view, ok := strings.CutPrefix(s, e.ns.DB+".")
	if e.op == "u" || e.o2 != nil || !ok {
		return nil, mongoerr.New(mongoerr.CommandNotSupported, "Only inserts and deletes of views can be applied to %s", e.ns)
	}
	b := bson.NewBuilder(nil)
	if e.op == "d" {
		b.String("drop", view)
		return b.Doc(), nil
	}
	b.String("create", view)
	for name, v := range e.o.Fields() {
		if string(name) != "_id" {
			b.ValueBytes(name, v)
		}
	}
	return b.Doc(), nil
}
