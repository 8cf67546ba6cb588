package ddl

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// sameCollection reports whether a create describes an existing collection.
func sameCollection(old *catalog.Collection, opts CreateOptions) bool {
	if opts.UUID != [16]byte{} && opts.UUID != old.UUID || !bson.Equal(sorted(old.Options.Raw).Value(), sorted(opts.Raw).Value(), nil) {
		return false
	}
	if len(opts.ShardKey) == 0 {
		return !old.Sharded() || len(opts.Raw) > 0
	}
	return old.Sharded() && bson.Equal(old.Key.Spec().Value(), opts.ShardKey.Value(), nil)
}

// sorted returns the options of a collection with the fields in the order of their names, without those that only
// repeat a default, so that two sets of options can be compared.
func sorted(r bson.Raw) bson.Raw {
	if len(r) == 0 {
		return bson.Empty
	}
	var names []string
	for name, v := range r.Fields() {
		if v.IsNullish() || string(name) == "capped" && !v.Truthy() {
			continue
		}
		names = append(names, string(name))
	}
	slices.Sort(names)
	b := bson.NewBuilder(nil)
	for _, n := range names {
		b.Value(n, r.Get(n))
	}
	return b.Doc()
}

// checkOptions rejects options of create that exclude or need each other.
// Manual: reference/command/create. Errors: InvalidOptions (72), BadValue (2), 6346401, 6367301, 6049200.
func checkOptions(r bson.Raw) error {
	has := func(name string) bool { v, ok := r.Lookup(name); return ok && !v.IsNullish() }
	if len(r) == 0 {
		return nil
	}
	capped := has("capped") && r.Get("capped").Truthy()
	switch {
	case has("encryptedFields") && (has("viewOn") || has("timeseries")):
		return mongoerr.New(6346401, "A view or a time-series collection cannot have encrypted fields")
	case has("encryptedFields") && capped:
		return mongoerr.New(6367301, "A capped collection cannot have encrypted fields")
	case has("pipeline") && !has("viewOn"):
		return mongoerr.New(mongoerr.InvalidOptions, "'viewOn' must be specified when 'pipeline' is present")
	case !capped && (has("size") || has("max")):
		return mongoerr.New(mongoerr.InvalidOptions, "the 'capped' field needs to be true when either the 'size' or 'max' fields are present")
	case capped && !has("size"):
		return mongoerr.New(mongoerr.InvalidOptions, "the 'size' field is required when 'capped' is true")
	case has("clusteredIndex") && capped:
		return mongoerr.New(6049200, "cannot make a collection both clustered and capped")
	case has("expireAfterSeconds") && !has("clusteredIndex") && !has("timeseries"):
		return mongoerr.New(mongoerr.InvalidOptions, "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified")
	}
	if !has("viewOn") {
		return nil
	}
	if on, _ := r.Get("viewOn").Str(); on == "" {
		return mongoerr.New(mongoerr.BadValue, "'viewOn' cannot be empty")
	}
	for _, name := range []string{"capped", "clusteredIndex", "expireAfterSeconds", "validator", "validationLevel", "validationAction", "storageEngine",
		"indexOptionDefaults", "changeStreamPreAndPostImages", "idIndex"} {
		if has(name) && (name != "capped" || capped) {
			return mongoerr.New(mongoerr.InvalidOptions, "option not supported on a view: %s", name)
		}
	}
	return nil
}

// checkView parses the pipeline of a view definition, and follows the views below it to the collection.
// Errors: the errors of the stages, OptionNotSupportedOnView (167), ViewDepthLimitExceeded (165), GraphContainsCycle
// (5), InvalidNamespace (73).
func checkView(o *cluster.Op, snap *catalog.Snapshot, coll *catalog.Collection) error {
	if !coll.IsView() {
		return nil
	}
	on := collection.Namespace{DB: coll.Namespace.DB, Coll: coll.Options.ViewOn}
	if err := checkNamespace(on); err != nil {
		return err
	}
	for at, seen := on, map[collection.Namespace]bool{coll.Namespace: true}; ; {
		if seen[at] {
			return mongoerr.New(mongoerr.GraphContainsCycle, "View cycle detected: %s depends on itself", coll.Namespace)
		}
		seen[at] = true
		next := snap.Collection(at)
		if next == nil || !next.IsView() {
			break
		}
		if !next.Options.Collation.Equal(coll.Options.Collation) {
			return mongoerr.New(mongoerr.OptionNotSupportedOnView, "View %s has conflicting collation with view %s", coll.Namespace, next.Namespace)
		}
		at.Coll = next.Options.ViewOn
	}
	if _, _, _, err := snap.Resolve(coll.Namespace); err != nil {
		return err
	}
	_, err := agg.Parse(o.Env.WithLateConstants(), coll.Options.Pipeline, agg.Options{NS: on, In: agg.InView})
	return err
}
