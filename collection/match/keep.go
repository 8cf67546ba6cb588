package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Keep returns the documents of docs that match a filter; an empty filter keeps all. Commands that list things use it
// for their argument filter. Errors: the errors of Keeper and of the function that it returns.
func Keep(env *mql.Env, docs []bson.Raw, filter bson.Raw) ([]bson.Raw, error) {
	if filter.IsEmpty() {
		return docs, nil
	}
	keeps, err := Keeper(env, filter)
	if err != nil {
		return nil, err
	}
	var out []bson.Raw
	for _, d := range docs {
		ok, err := keeps(d)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, d)
		}
	}
	return out, nil
}

// Keeper returns a function that reports whether a document matches a filter; an empty filter matches all. The
// function's errors are the errors of Node.Matches. Errors of Keeper: the errors of RefuseInValidator and Parse.
func Keeper(env *mql.Env, filter bson.Raw) (keeps func(bson.Raw) (bool, error), err error) {
	if filter.IsEmpty() {
		return func(bson.Raw) (bool, error) { return true, nil }, nil
	}
	if err := RefuseInValidator(filter); err != nil {
		return nil, err
	}
	f, err := Parse(env, filter)
	if err != nil {
		return nil, err
	}
	f = Normalize(f)
	var s expr.Scratch
	return func(d bson.Raw) (bool, error) {
		s.Reset()
		return f.Matches(env, d, &s)
	}, nil
}
