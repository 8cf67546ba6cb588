package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// mergeObjects is $mergeObjects: later fields win, at the place of the first.
func mergeObjects(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	out := bson.EmptyDoc
	if len(a) == 1 && a[0].Type == bson.TypeArray {
		base := len(s.stack)
		for it := bson.Raw(a[0].Data).Iter(); it.Next(); {
			s.stack = append(s.stack, it.Value)
		}
		a = s.stack[base:]
		defer func() { s.stack = s.stack[:base] }()
	}
	for _, v := range a {
		if v.IsNullish() {
			continue
		}
		d, ok := v.Doc()
		if !ok {
			return v, mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", show(v), v.Type)
		}
		out = Merge(s, out.Data, d)
	}
	return out, nil
}

// Merge puts the fields of b over those of a, as $mergeObjects does. The
// result may be one of them.
func Merge(s *Scratch, a, b bson.Raw) bson.Value {
	if a.IsEmpty() {
		return b.Value()
	}
	if b.IsEmpty() {
		return a.Value()
	}
	// A map pays off only where many names meet many.
	var at map[string]bson.Value
	if len(a) > 256 && len(b) > 256 {
		at = map[string]bson.Value{}
		for it := b.Iter(); it.Next(); {
			at[string(it.Name)] = it.Value
		}
	}
	out := s.newDoc()
	for it := a.Iter(); it.Next(); {
		v, ok := at[string(it.Name)]
		if at == nil {
			v, ok = lookupBytes(b, it.Name)
		}
		if !ok {
			v = it.Value
		}
		out.ValueBytes(it.Name, v)
	}
	clear(at)
	if at != nil {
		for it := a.Iter(); it.Next(); {
			at[string(it.Name)] = it.Value
		}
	}
	for it := b.Iter(); it.Next(); {
		_, ok := at[string(it.Name)]
		if at == nil {
			_, ok = lookupBytes(a, it.Name)
		}
		if !ok {
			out.ValueBytes(it.Name, it.Value)
		}
	}
	return s.endDoc(out)
}

// lookupBytes finds a field by a name given as bytes.
func lookupBytes(d bson.Raw, name []byte) (bson.Value, bool) {
	for it := d.Iter(); it.Next(); {
		if string(it.Name) == string(name) {
			return it.Value, true
		}
	}
	return bson.Value{}, false
}
