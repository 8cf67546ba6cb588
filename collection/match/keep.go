package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Keep keeps the documents that match a filter; nil keeps all.
// Errors: those of Parse and of the expressions in the filter.
func Keep(env *mql.Env, docs []bson.Raw, filter bson.Raw) ([]bson.Raw, error) {
	if filter.IsEmpty() {
		return docs, nil
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
	var out []bson.Raw
	for _, d := range docs {
		s.Reset()
		ok, err := f.Matches(env, d, &s)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, d)
		}
	}
	return out, nil
}
