package ddl

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
)

// CollMod holds the changes of a collMod to a collection or view.
type CollMod struct {
	// IndexName names the index to change. If it is empty, IndexKey selects the index; if both are
	// empty, none changes.
	IndexName string
	// IndexKey is the key pattern of the index to change.
	IndexKey bson.Raw
	// IndexOptions are the options of the index to set: hidden,
	// expireAfterSeconds, prepareUnique, unique.
	IndexOptions bson.Raw
	// Options are the options of the collection to set, as create takes them; null removes an
	// option.
	Options bson.Raw
}

// CollModResult holds what changed, for the reply.
type CollModResult struct {
	Before, After *catalog.Index // of the index that changed
}

// CollMod changes options of a collection, a view or an index.
// Manual: reference/command/collMod. Errors: NamespaceNotFound (26), IndexNotFound (27), InvalidOptions (72), the
// errors of the options.
func (d *Definer) CollMod(o *cluster.Op, ns collection.Namespace, mod CollMod) (r CollModResult, err error) {
	if err := noTxn(o, ns.DB, "collMod"); err != nil {
		return r, err
	}
	if err := d.waitForTxns(o, ns); err != nil {
		return r, err
	}
	if mod.IndexOptions.Get("unique").Truthy() {
		r, err = d.makeUnique(o, ns, mod)
	} else {
		err = d.alter(o, func(m *catalog.Mutation) error {
			r = CollModResult{}
			coll := m.Snapshot().Collection(ns)
			if coll == nil {
				return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", ns)
			}
			next := coll
			if mod.IndexName != "" || mod.IndexKey != nil {
				if coll.IsView() {
					return mongoerr.New(mongoerr.InvalidOptions, "option not supported on a view: index")
				}
				if next, r, err = modIndex(o, next, mod); err != nil {
					return err
				}
			}
			if len(mod.Options) > 0 {
				if next, err = modOptions(o, next, mod.Options); err != nil {
					return err
				}
			}
			if next != coll {
				if err := m.Put(next); err != nil {
					return err
				}
				if err := checkView(o, m.Snapshot(), next); err != nil {
					return err
				}
			} // a collMod without changes is logged as well
			return logCollMod(o, m.Txn(), coll, next, mod, r)
		})
	}
	if err == nil && r.Before != nil && r.Before.Hidden != r.After.Hidden {
		if coll := d.catalog.Peek().Collection(ns); coll != nil { // statistics of the index restart: Manual: core/index-hidden
			d.data.Uses.Reset(coll.ID, r.After.ID)
		}
	}
	return r, err
}

// logCollMod appends the record of a collMod that changed the entry coll to next to the change log.
func logCollMod(o *cluster.Op, txn storage.Txn, coll, next *catalog.Collection, mod CollMod, r CollModResult) error {
	before := func(b *bson.Builder) {
		b.BeginDoc("collectionOptions")
		if !coll.IsView() {
			b.Binary("uuid", 4, coll.UUID[:])
		}
		b.Splice(coll.Options.Raw.Elements())
		b.End()
		if r.Before != nil {
			b.BeginDoc("indexOptions")
			for name, v := range r.Before.Raw().Fields() {
				switch string(name) {
				case "expireAfterSeconds", "hidden", "unique", "prepareUnique":
					b.ValueBytes(name, v)
				}
			}
			for name := range mod.IndexOptions.Fields() { // an option that the index did not have is logged as false
				if n := string(name); n != "expireAfterSeconds" && r.Before.Raw().Get(n).IsMissing() {
					b.Bool(n, false)
				}
			}
			b.End()
		}
	}
	return logCommand(o, txn, coll.Namespace.DB, next, before, func(b *bson.Builder) {
		b.String("collMod", coll.Namespace.Coll)
		if len(mod.Options) > 0 {
			b.Splice(mod.Options.Elements())
		}
		if r.Before != nil {
			b.BeginDoc("index")
			b.String("name", r.Before.Name)
			b.Splice(mod.IndexOptions.Elements())
			b.End()
		}
	})
}

// checkHiding returns an error for hiding an index of a system collection, or, without a Cosmos account, the last
// index that serves a ranged shard key. Manual: core/index-hidden, core/sharding-shard-key-indexes.
// Errors: BadValue (2), IllegalOperation (20).
func checkHiding(o *cluster.Op, coll *catalog.Collection, ix *catalog.Index) error {
	if strings.HasPrefix(coll.Namespace.Coll, "system.") && !strings.HasPrefix(coll.Namespace.Coll, "system.buckets.") {
		return mongoerr.New(mongoerr.BadValue, "can't hide index on system collection")
	}
	if o.Env.Strict() || !needsServingIndex(coll) {
		return nil
	}
	return checkServed(coll, []*catalog.Index{ix}, "hide")
}

// modIndex sets options of one index.
func modIndex(o *cluster.Op, coll *catalog.Collection, mod CollMod) (*catalog.Collection, CollModResult, error) {
	none := CollModResult{}
	var ix *catalog.Index
	if mod.IndexName != "" {
		if ix = coll.Index(mod.IndexName); ix == nil {
			return nil, none, mongoerr.New(mongoerr.IndexNotFound, "cannot find index %s for ns %s", mod.IndexName, coll.Namespace)
		}
	} else {
		found, err := indexesToDrop(coll, nil, mod.IndexKey, false)
		if err != nil && mongoerr.CodeOf(err) != mongoerr.InvalidOptions {
			return nil, none, err
		}
		if err != nil {
			found = coll.Indexes[:1]
		}
		ix = found[0]
	}
	if mod.IndexOptions.IsEmpty() {
		return nil, none, mongoerr.New(mongoerr.InvalidOptions, "no expireAfterSeconds, hidden, unique, or prepareUnique field")
	}
	changed := *ix
	for name, v := range mod.IndexOptions.Fields() {
		if string(name) == "unique" { // see makeUnique
			continue
		}
		if ix.ID == coll.IDIndex().ID {
			switch string(name) {
			case "hidden":
				return nil, none, mongoerr.New(mongoerr.BadValue, "can't hide _id index")
			case "expireAfterSeconds":
				return nil, none, mongoerr.New(mongoerr.BadValue, "the _id field does not support TTL indexes")
			}
		}
		if string(name) == "hidden" && v.Truthy() {
			if err := checkHiding(o, coll, ix); err != nil {
				return nil, none, err
			}
		}
		spec, err := changed.Spec.With(o.Env, string(name), v)
		if err != nil {
			return nil, none, err
		}
		changed.Spec = spec
	}
	return coll.WithIndex(&changed), CollModResult{ix, &changed}, nil
}

// modOptions merges the options of a collMod into those of a collection or view; null removes an option.
func modOptions(o *cluster.Op, coll *catalog.Collection, change bson.Raw) (*catalog.Collection, error) {
	for name := range change.Fields() {
		view := string(name) == "viewOn" || string(name) == "pipeline"
		if view != coll.IsView() {
			if view {
				return nil, mongoerr.New(mongoerr.InvalidOptions, "option only supported on a view: %s", name)
			}
			return nil, mongoerr.New(mongoerr.InvalidOptions, "option not supported on a view: %s", name)
		}
	}
	b := bson.NewBuilder(nil)
	if len(coll.Options.Raw) > 0 {
		for it := coll.Options.Raw.Iter(); it.Next(); {
			v, over := change.Lookup(string(it.Name))
			switch {
			case !over:
				b.ValueBytes(it.Name, it.Value)
			case !v.IsNullish():
				b.ValueBytes(it.Name, v)
			}
		}
	}
	for it := change.Iter(); it.Next(); {
		if coll.Options.Raw.IsEmpty() || coll.Options.Raw.Get(string(it.Name)).IsMissing() {
			if !it.Value.IsNullish() {
				b.ValueBytes(it.Name, it.Value)
			}
		}
	}
	if change.Has("validator") || change.Has("validationLevel") || change.Has("validationAction") {
		storeValidation(b, coll, change)
	}
	options, err := catalog.ParseOptions(o.Env, b.Doc(), coll.Options.Collation.Version())
	if err != nil {
		return nil, err
	}
	return coll.With(func(d *catalog.Collection) { d.Options = options }), nil
}

// storeValidation appends the level and the action of the validation that neither the collection nor a change of its
// validation names: then listCollections shows all of it, as in MongoDB.
func storeValidation(b *bson.Builder, coll *catalog.Collection, change bson.Raw) {
	for _, x := range [...]struct{ name, value string }{
		{"validationLevel", coll.Options.ValidationLevel}, {"validationAction", coll.Options.ValidationAction},
	} {
		if !change.Has(x.name) && (coll.Options.Raw.IsEmpty() || !coll.Options.Raw.Has(x.name)) {
			b.String(x.name, x.value)
		}
	}
}
