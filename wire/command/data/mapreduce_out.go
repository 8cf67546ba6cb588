package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// mapReduceOut is the target of the results of mapReduce.
type mapReduceOut struct {
	inline bool
	mode   string // replace, merge or reduce
	ns     collection.Namespace
}

// parseMapReduceOut reads out.
// Manual: reference/command/mapReduce#out-options. Errors: BadValue (2), IDLDuplicateField (40413).
func parseMapReduceOut(db string, v bson.Value) (*mapReduceOut, error) {
	o := &mapReduceOut{mode: "replace", ns: collection.Namespace{DB: db}}
	bad := func(format string, args ...any) (*mapReduceOut, error) {
		return nil, mongoerr.New(mongoerr.BadValue, format, args...)
	}
	switch v.Type {
	case bson.TypeString:
		o.ns.Coll, _ = v.Str()
	case bson.TypeDocument:
		if name, twice := bson.Raw(v.Data).Repeated(); twice {
			return nil, mongoerr.RepeatedField("mapReduce.out." + string(name))
		}
		modes, fields := 0, 0
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			fields++
			switch name := string(it.Name); name {
			case "inline":
				if n, ok := it.Value.AsInt64(); !ok || n != 1 {
					return bad("'inline' must be 1")
				}
				o.inline = true
				modes++
			case "replace", "merge", "reduce":
				text, ok := it.Value.Str()
				if !ok {
					return bad("'%s' in 'out' must be the name of a collection, not %s", name, it.Value.Type)
				}
				o.mode, o.ns.Coll = name, text
				modes++
			case "db":
				text, ok := it.Value.Str()
				if !ok {
					return bad("'db' in 'out' must be a string, not %s", it.Value.Type)
				}
				o.ns.DB = text
			case "sharded":
				if it.Value.Type != bson.TypeBool {
					return bad("'sharded' in 'out' must be a boolean, not %s", it.Value.Type)
				}
			case "nonAtomic":
				if it.Value.Type != bson.TypeBool {
					return bad("'nonAtomic' in 'out' must be a boolean, not %s", it.Value.Type)
				}
			default:
				return bad("unrecognized field '%s' in 'out'", name)
			}
		}
		if modes != 1 || o.inline && fields != 1 {
			return bad("'out' must have exactly one of 'inline' (alone), 'replace', 'merge' and 'reduce'")
		}
	default:
		return bad("'out' must be either a string or an object")
	}
	return o, nil
}

// check refuses an output collection of mapReduce in an internal database, or with an invalid name.
// Errors: 31321, InvalidNamespace (73).
func (o *mapReduceOut) check() error {
	if o.inline {
		return nil
	}
	if collection.IsInternal(o.ns.DB) {
		return mongoerr.New(31321, "Cannot output the results of a mapReduce to internal database: %s", o.ns.DB)
	}
	return collection.CheckNamespace(o.ns)
}

// sink describes how the results of a mapReduce are written into its output collection. In the mode reduce, the
// reduce function combines the stored value with the new one, in this order.
func (o *mapReduceOut) sink(e *emitted) *agg.SinkSpec {
	s := &agg.SinkSpec{NS: o.ns, WhenMatched: agg.MatchReplace}
	switch o.mode {
	case "replace":
		s.Out = true
	case "reduce":
		s.WhenMatched = agg.MatchCombine
		s.Combine = func(_ *mql.Env, old, fresh bson.Raw) (bson.Raw, error) {
			return e.rereduce(old.Get("_id"), old.Get("value"), fresh.Get("value"))
		}
	}
	return s
}
