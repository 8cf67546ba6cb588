package expr

import (
	"unsafe"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// mergeObjects is $mergeObjects: it merges documents; the last value of a field wins, in the place of the
// first.
func mergeObjects(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if len(a) == 1 && a[0].Type == bson.TypeArray {
		base := len(s.stack)
		defer func() { s.stack = s.stack[:base] }()
		if err := s.pushAll(env, bson.Raw(a[0].Data)); err != nil {
			return a[0], err
		}
		a = s.stack[base:]
	}
	out, made := bson.EmptyDoc, 0
	var t doubleBuffer // used from the second merged document on
	mark := s.Mark()
	for _, v := range a {
		next, isNew, err := merge(env, s, out.Data, v)
		if err == nil && isNew {
			if made++; made == 2 {
				t = s.doubleBuffer()
			}
			if made >= 2 {
				next, err = t.keep(env, s, next)
				s.Release(mark)
			}
		}
		if err != nil {
			t.drop(s)
			return v, err
		}
		out = next
	}
	if made < 2 {
		return out, nil
	}
	return t.end(env, s, out)
}

// merge returns the document a with the fields of v added or replaced, for $mergeObjects. isNew reports that
// the result is a new document, not one of the two.
//
// Errors: 40400 if v is no document; ExceededMemoryLimit; the reason why the command must end.
func merge(env *mql.Env, s *Scratch, a bson.Raw, v bson.Value) (out bson.Value, isNew bool, err error) {
	if err := env.Tick(); err != nil || v.IsNullish() {
		return a.Value(), false, err
	}
	b, ok := v.Doc()
	if !ok {
		return v, false, mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", show(v), v.Type)
	}
	if err := env.Spend(len(a) + len(b)); err != nil {
		return v, false, err
	}
	switch {
	case a.IsEmpty():
		return v, false, nil
	case b.IsEmpty():
		return a.Value(), false, nil
	}
	look := max(LookupBytes(a, len(b)), LookupBytes(b, len(a)))
	if err := s.take(env, look); err != nil {
		return v, false, err
	}
	defer func() { s.outside -= look }()
	m := s.newDoc()
	if err := s.room(env, m, len(a)+len(b)); err != nil {
		s.drop(m)
		return v, false, err
	}
	fields := FieldsOf(b, len(a))
	for it := a.Iter(); it.Next(); {
		v, ok := fields.Lookup(it.Name)
		if !ok {
			v = it.Value
		}
		if err := s.fieldBytes(env, m, it.Name, v); err != nil { // a repeated name in a
			s.drop(m)
			return v, false, err
		}
	}
	fields = FieldsOf(a, len(b))
	for it := b.Iter(); it.Next(); {
		if _, ok := fields.Lookup(it.Name); !ok {
			m.ValueBytes(it.Name, it.Value)
		}
	}
	out, err = s.endDoc(env, m)
	return out, true, err
}

// Fields looks up the fields of a document by name.
type Fields struct {
	doc bson.Raw
	at  map[string]int32 // offset of each field; nil: lookups scan the document
}

// many reports whether a map of field names is faster than scans, because both documents (their lengths in
// bytes) are large.
func many(doc bson.Raw, other int) bool { return len(doc) > 256 && other > 256 }

// LookupBytes returns the approximate memory in bytes that FieldsOf allocates with the same arguments.
func LookupBytes(doc bson.Raw, other int) int {
	if !many(doc, other) {
		return 0
	}
	return doc.Len() * lookupBytes
}

// FieldsOf returns the Fields of doc for looking up the names of another document, whose length is other bytes. The
// document doc must not change while the Fields are in use.
func FieldsOf(doc bson.Raw, other int) Fields {
	f := Fields{doc: doc}
	if !many(doc, other) {
		return f
	}
	f.at = map[string]int32{}
	begin := 4
	for it := doc.Iter(); it.Next(); {
		name := unsafe.String(unsafe.SliceData(it.Name), len(it.Name))
		if _, ok := f.at[name]; !ok {
			f.at[name] = int32(begin)
		}
		begin = it.Offset(doc)
	}
	return f
}

// Lookup returns the first field with a name.
func (f Fields) Lookup(name []byte) (bson.Value, bool) {
	if f.at != nil {
		begin, ok := f.at[string(name)]
		if !ok {
			return bson.Value{}, false
		}
		it := f.doc.IterAt(int(begin))
		it.Next()
		return it.Value, true
	}
	for it := f.doc.Iter(); it.Next(); {
		if string(it.Name) == string(name) {
			return it.Value, true
		}
	}
	return bson.Value{}, false
}
