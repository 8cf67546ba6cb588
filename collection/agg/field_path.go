package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// fieldName is a validated dotted path to which a stage writes.
type fieldName []string

// String returns the dotted path.
func (f fieldName) String() string { return strings.Join(f, ".") }

// checkField validates a dotted path.
//
// Errors: errors of order.CheckedPath, for an empty or invalid field name.
func checkField(s string) (fieldName, error) {
	if _, err := order.CheckedPath(s); err != nil {
		return nil, err
	}
	return strings.Split(s, "."), nil
}

// get returns the value at the path, missing if a value on the way is not a document. Arrays are not searched.
func (f fieldName) get(doc bson.Raw) bson.Value {
	v := doc.Value()
	for _, name := range f {
		if v.Type != bson.TypeDocument {
			return bson.Value{}
		}
		v = bson.Raw(v.Data).Get(name)
	}
	return v
}

// appendWith copies the fields of doc into the open document of b with the value at the path names replaced by v, or
// added at the end. A value on the path that is no document becomes one. A missing v only removes the field.
func appendWith(b *bson.Builder, doc bson.Raw, names []string, v bson.Value) {
	found := false
	for it := doc.Iter(); it.Next(); {
		if found || string(it.Name) != names[0] {
			b.ValueBytes(it.Name, it.Value)
			continue
		}
		found = true
		if len(names) == 1 {
			b.ValueBytes(it.Name, v)
			continue
		}
		sub, ok := it.Value.Doc()
		if !ok {
			if v.IsMissing() {
				b.ValueBytes(it.Name, it.Value)
				continue
			}
			sub = bson.Empty
		}
		b.BeginDocBytes(it.Name)
		appendWith(b, sub, names[1:], v)
		b.End()
	}
	if found || v.IsMissing() {
		return
	}
	for _, name := range names[:len(names)-1] {
		b.BeginDoc(name)
	}
	b.Value(names[len(names)-1], v)
	for range names[1:] {
		b.End()
	}
}

// appendEach is appendWith for stages with the semantics of $addFields: if an array is on the path, the value
// is set in each of its elements.
//
// Errors: BSONObjectTooLarge; the reason why the command must end.
func appendEach(env *mql.Env, b *bson.Builder, doc bson.Raw, names []string, v bson.Value) error {
	found := false
	for it := doc.Iter(); it.Next(); {
		if found || string(it.Name) != names[0] {
			b.ValueBytes(it.Name, it.Value)
			continue
		}
		found = true
		if len(names) == 1 {
			b.ValueBytes(it.Name, v)
		} else if err := appendInside(env, b, it.Name, it.Value, names[1:], v); err != nil {
			return err
		}
	}
	if !found {
		appendWith(b, bson.Empty, names, v)
	}
	return nil
}

// appendInside copies the value old into b under name, with the path names inside it set to v. If old is an
// array, this happens in each of its elements.
func appendInside(env *mql.Env, b *bson.Builder, name []byte, old bson.Value, names []string, v bson.Value) error {
	if err := env.Tick(); err != nil {
		return err
	}
	if b.Len() > docBytesMax {
		return tooLarge(b.Len())
	}
	if a, ok := old.Array(); ok {
		b.BeginArrayBytes(name)
		for it := a.Iter(); it.Next(); {
			if err := appendInside(env, b, nil, it.Value, names, v); err != nil {
				return err
			}
		}
		b.End()
		return nil
	}
	d, ok := old.Doc()
	if !ok {
		d = bson.Empty
	}
	b.BeginDocBytes(name)
	err := appendEach(env, b, d, names, v)
	b.End()
	return err
}
