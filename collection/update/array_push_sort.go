package update

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// pushSort is the $sort clause of $push: an order of array elements by themselves, or by fields of elements that are
// documents. Manual: reference/operator/update/sort.
type pushSort struct {
	whole keystring.Dir // 0 with a pattern
	parts []pushSortPart
}

type pushSortPart struct {
	path path.Path
	dir  keystring.Dir
}

func parsePushSort(_ *mql.Env, v bson.Value) (*pushSort, error) {
	d, ok := v.Doc()
	if !ok {
		dir, ok := sortDirection(v)
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields")
		}
		return &pushSort{whole: dir}, nil
	}
	if d.IsEmpty() {
		return nil, mongoerr.New(mongoerr.BadValue, "The $sort pattern is empty when it should be a set of fields.")
	}
	s := &pushSort{}
	for it := d.Iter(); it.Next(); {
		dir, ok := sortDirection(it.Value)
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "The $sort element value must be either 1 or -1")
		}
		p, err := path.Compile(string(it.Name))
		if err != nil || p.HasEmpty() {
			return nil, mongoerr.New(mongoerr.BadValue, "The $sort field is a dotted field but has an empty part: %s", it.Name)
		}
		s.parts = append(s.parts, pushSortPart{p, dir})
	}
	return s, nil
}

func sortDirection(v bson.Value) (keystring.Dir, bool) {
	n, ok := v.AsInt64()
	return keystring.Dir(n), ok && (n == 1 || n == -1)
}

// sort sorts the values in place, stably.
// Errors: the context's cause.
func (s *pushSort) sort(a *applier, values []bson.Value) error {
	o := a.env.Order()
	if s.whole != 0 {
		return mql.SortValues(a.env, values, int(s.whole))
	}
	type keyed struct {
		key []byte
		v   bson.Value
	}
	list := make([]keyed, len(values))
	for i, v := range values {
		d, _ := v.Doc() // a value other than a document has no fields
		var key []byte
		for _, p := range s.parts {
			key = keystring.Append(key, p.path.Get(d), p.dir, o, nil)
		}
		list[i] = keyed{key, v}
	}
	if err := mql.Sort(a.env, list, func(x, y keyed) int { return bytes.Compare(x.key, y.key) }); err != nil {
		return err
	}
	for i := range list {
		values[i] = list[i].v
	}
	return nil
}
