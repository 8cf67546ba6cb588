package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// mergeObjects is $mergeObjects: later fields win, at the place of the first.
func mergeObjects(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
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
		if err := env.Tick(); err != nil {
			return v, err
		}
		if v.IsNullish() {
			continue
		}
		d, ok := v.Doc()
		if !ok {
			return v, mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", show(v), v.Type)
		}
		if err := env.Spend(len(out.Data) + len(d)); err != nil {
			return v, err
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
	out := s.newDoc()
	fields := FieldsOf(b, len(a))
	for it := a.Iter(); it.Next(); {
		v, ok := fields.Lookup(it.Name)
		if !ok {
			v = it.Value
		}
		out.ValueBytes(it.Name, v)
	}
	fields = FieldsOf(a, len(b))
	for it := b.Iter(); it.Next(); {
		if _, ok := fields.Lookup(it.Name); !ok {
			out.ValueBytes(it.Name, it.Value)
		}
	}
	return s.endDoc(out)
}

// Fields finds the fields of a document by their names.
type Fields struct {
	doc bson.Raw
	at  map[string]bson.Value // nil: the document is looked through
}

// FieldsOf is made for about as many names as other bytes hold: a map pays off only where
// many names meet many.
func FieldsOf(doc bson.Raw, other int) Fields {
	f := Fields{doc: doc}
	if len(doc) > 256 && other > 256 {
		f.at = map[string]bson.Value{}
		for it := doc.Iter(); it.Next(); {
			if _, ok := f.at[string(it.Name)]; !ok {
				f.at[string(it.Name)] = it.Value
			}
		}
	}
	return f
}

// Lookup finds the first field with a name.
func (f Fields) Lookup(name []byte) (bson.Value, bool) {
	if f.at != nil {
		v, ok := f.at[string(name)]
		return v, ok
	}
	for it := f.doc.Iter(); it.Next(); {
		if string(it.Name) == string(name) {
			return it.Value, true
		}
	}
	return bson.Value{}, false
}
