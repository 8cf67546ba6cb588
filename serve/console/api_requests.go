package console

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// requests returns the reply of the command GetRequestReport for one collection, or for all if the request names
// none. With the argument history=1 the reply also has each query shape's history of the last hour, by the minute.
func requests(q *query) (any, error) {
	top, err := q.number("top", 100, 1, 1000)
	if err != nil {
		return nil, err
	}
	db, coll := "admin", ""
	if q.text("ns") != "" {
		ns, err := q.namespace()
		if err != nil {
			return nil, err
		}
		db, coll = ns.DB, ns.Coll
	}
	command := bson.D{{"customAction", "GetRequestReport"}, {"top", top}, {"history", q.text("history") == "1"}, {"values", true}}
	if coll != "" {
		command = append(command, bson.E{"collection", coll})
	}
	reply, err := q.runCommand(db, command)
	if err != nil {
		return nil, err
	}
	return raw(reply), nil
}

// explain returns the plan of a query, or of the argument pipeline, and its cost in RU. The cost is estimated; if the
// argument run is true, the query runs and the cost is counted. The filter may be a query shape of the request report:
// it stands for the filter of the shape's costliest run, see fillShape.
func explain(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	var inner bson.Raw
	if q.body.Has("pipeline") {
		var command bson.D
		command, err = q.aggregateCommand(ns)
		inner = command.Doc()
	} else {
		inner, err = q.findCommand(ns)
	}
	if err != nil {
		return nil, err
	}
	verbosity := "queryPlanner"
	if q.body.Get("run").Truthy() {
		verbosity = "executionStats"
	}
	reply, err := q.runCommand(ns.DB, bson.D{{"explain", inner}, {"verbosity", verbosity}, {"maxTimeMS", int64(runMillis)}})
	if err != nil {
		return nil, err
	}
	return raw(reply), nil
}

// findCommand returns the find command that the arguments describe.
func (q *query) findCommand(ns collection.Namespace) (bson.Raw, error) {
	find, defaultLimit := bson.D{{"find", ns.Coll}}, int64(20)
	for _, name := range []string{"filter", "sort", "projection"} {
		var d bson.Raw
		var err error
		if s, ok := q.body.Get(name).Str(); ok && name == "filter" && strings.Contains(s, "?") {
			d, defaultLimit, err = q.fillShape(ns, s)
		} else {
			d, err = q.document(name)
		}
		if err != nil {
			return nil, err
		}
		if !d.IsEmpty() {
			find = append(find, bson.E{name, d})
		}
	}
	for _, x := range []struct {
		name            string
		otherwise, most int64
	}{{"skip", 0, 1 << 40}, {"limit", defaultLimit, pageMax}} {
		n, err := q.number(x.name, x.otherwise, 0, max(x.most, x.otherwise))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			find = append(find, bson.E{x.name, n})
		}
	}
	return find.Doc(), nil
}

// unknown stands for a question mark of a query shape while the shape is parsed as JSON.
const unknown = "\x01"

// fillShape makes a filter from a query shape of the request report: the filter of the costliest run of the shape, as far
// as the server has recorded it and the user may see values, with the limit of that run, 0 for none. Otherwise values of
// a document of the collection replace the question marks.
// Errors: FailedToParse (9) if the shape is no document; the errors of the find command.
func (q *query) fillShape(ns collection.Namespace, shape string) (filter bson.Raw, limit int64, err error) {
	if d, limit := q.costliest(ns, shape); d != nil {
		return d, limit, nil
	}
	d, err := parse(strings.ReplaceAll(strings.ReplaceAll(shape, "…", ""), "?", `"\u0001"`))
	if err != nil {
		return nil, 0, mongoerr.New(mongoerr.FailedToParse, "The shape %s cannot be turned into a filter: type the filter", shape)
	}
	reply, err := q.runCommand(ns.DB, bson.D{{"find", ns.Coll}, {"limit", 1}, {"singleBatch", true}})
	if err != nil {
		return nil, 0, err
	}
	var sample bson.Raw
	cursor, _ := reply.Get("cursor").Doc()
	list, _ := cursor.Get("firstBatch").Array()
	for v := range list.Values() {
		sample, _ = v.Doc()
	}
	return fill(d, sample, "").Doc(), 20, nil
}

// costliest returns the filter of the costliest recorded run of a query shape of a collection, of any command, and its
// limit; nil for none.
func (q *query) costliest(ns collection.Namespace, shape string) (filter bson.Raw, limit int64) {
	reply, err := q.runCommand(ns.DB, bson.D{{"customAction", "GetRequestReport"}, {"collection", ns.Coll}, {"top", 1000}, {"values", true}})
	if err != nil {
		return nil, 0
	}
	most := 0.0
	list, _ := reply.Get("requests").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		if s, _ := d.Get("filter").Str(); s != shape {
			continue
		}
		x, _ := d.Get("costliest").Doc()
		if ru, _ := x.Get("ru").AsFloat(); ru > most {
			most = ru
			filter, _ = x.Get("filter").Doc()
			limit, _ = x.Get("limit").AsInt64()
		}
	}
	return filter, limit
}

// fill returns a query shape, with values of the document sample in place of the question marks. path is the field to
// which the operators at the top of shape apply, "" outside of a field.
func fill(shape, sample bson.Raw, path string) (out bson.D) {
	for it := shape.Iter(); it.Next(); {
		name := string(it.Name)
		at := path
		if !strings.HasPrefix(name, "$") {
			at = name
		}
		if s, ok := it.Value.Str(); ok && s == unknown {
			out = append(out, bson.E{name, filling(name, valueAt(sample, at))})
			continue
		}
		if list, ok := it.Value.Array(); ok && it.Value.Type == bson.TypeArray {
			parts := bson.A{}
			for v := range list.Values() {
				inner, _ := v.Doc()
				parts = append(parts, fill(inner, sample, at))
			}
			out = append(out, bson.E{name, parts})
			continue
		}
		inner, _ := it.Value.Doc()
		out = append(out, bson.E{name, fill(inner, sample, at)})
	}
	return out
}

// filling returns what replaces a question mark of a query shape: v, the field's value in an existing document, in an
// array if name is $in, $nin or $all; a constant if name is $exists, $size or $regex.
func filling(name string, v bson.Value) any {
	switch name {
	case "$in", "$nin", "$all":
		return bson.A{v}
	case "$exists":
		return true
	case "$size":
		return 1
	case "$regex":
		return "^a"
	}
	return v
}

// valueAt returns the value of a document at a dotted path. In place of a non-empty array on the path or at its end,
// the first element is taken. If there is no value, the result is null.
func valueAt(d bson.Raw, path string) bson.Value {
	first, rest, deeper := strings.Cut(path, ".")
	v := d.Get(first)
	if list, ok := v.Array(); ok && v.Type == bson.TypeArray {
		if e, ok := list.First(); ok {
			v = e.Value
		}
	}
	if inner, ok := v.Doc(); ok && deeper {
		return valueAt(inner, rest)
	}
	if v.IsMissing() || deeper {
		return bson.Null
	}
	return v
}
