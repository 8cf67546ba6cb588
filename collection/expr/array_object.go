package expr

import (
	"bytes"
	"unsafe"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// objectToArray is $objectToArray: [{k: name, v: value}, …].
func objectToArray(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Doc()
	if !ok {
		return a[0], mongoerr.New(40390, "$objectToArray requires a document input, found: %s", a[0].Type)
	}
	if err := env.Spend(len(d)); err != nil {
		return a[0], err
	}
	b := s.newArray()
	for it := d.Iter(); it.Next(); {
		if err := s.room(env, b, len(it.Name)+len(it.Value.Data)+2*headBytes); err != nil {
			s.drop(b)
			return a[0], err
		}
		b.BeginDoc("")
		b.StringBytes("k", it.Name)
		b.Value("v", it.Value)
		b.End()
	}
	return s.endArray(env, b)
}

// lookupBytes is the approximate memory of an entry in a map of field names, in addition to the text of the
// name.
const lookupBytes = 96

// arrayToObject is $arrayToObject, from [[k, v], …] or [{k:, v:}, …]. If a name is repeated, the last
// value wins, in the place of the first.
func arrayToObject(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Array()
	if !ok {
		return a[0], mongoerr.New(40386, "$arrayToObject requires an array input, found: %s", a[0].Type)
	}
	n := d.Len()
	look := n*(lookupBytes+int(unsafe.Sizeof(bson.Field{}))) + len(d)
	if err := s.take(env, look); err != nil {
		return a[0], err
	}
	defer func() { s.outside -= look }()
	fields := make([]bson.Field, 0, n)
	at := map[string]int{}
	form := bson.TypeMissing
	for it := d.Iter(); it.Next(); {
		e := it.Value
		if err := env.Tick(); err != nil {
			return e, err
		}
		if form == bson.TypeMissing {
			if e.Type != bson.TypeArray && e.Type != bson.TypeDocument {
				return e, mongoerr.New(40398, "Unrecognised input type format for $arrayToObject: %s", e.Type)
			}
			form = e.Type
		}
		var name []byte
		var v bson.Value
		var err error
		if form == bson.TypeArray {
			name, v, err = pairOf(e)
		} else {
			name, v, err = keyValueOf(e)
		}
		if err != nil {
			return e, err
		}
		if i, ok := at[string(name)]; ok {
			fields[i].Value = v
			continue
		}
		at[string(name)] = len(fields)
		fields = append(fields, bson.Field{Name: name, Value: v})
	}
	b := s.newDoc()
	for _, f := range fields {
		if err := s.fieldBytes(env, b, f.Name, f.Value); err != nil {
			s.drop(b)
			return a[0], err
		}
	}
	return s.endDoc(env, b)
}

func pairOf(e bson.Value) (name []byte, v bson.Value, err error) {
	p, ok := e.Array()
	if !ok {
		return nil, v, mongoerr.New(40396, "$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. Array was detected, now found: %s", e.Type)
	}
	if p.Len() != 2 {
		return nil, v, mongoerr.New(40397, "$arrayToObject requires an array of size 2 arrays,found array of size: %d", p.Len())
	}
	k, _ := p.Index(0)
	v, _ = p.Index(1)
	if name, ok = k.Text(); !ok || k.Type != bson.TypeString {
		return nil, v, mongoerr.New(40395, "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: %s", k.Type)
	}
	if bytes.IndexByte(name, 0) >= 0 {
		return nil, v, mongoerr.New(4940400, "Key field cannot contain an embedded null byte")
	}
	return name, v, nil
}

func keyValueOf(e bson.Value) (name []byte, v bson.Value, err error) {
	d, ok := e.Doc()
	if !ok {
		return nil, v, mongoerr.New(40391, "$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. Object was detected, now found: %s", e.Type)
	}
	if d.Len() != 2 {
		return nil, v, mongoerr.New(40392, "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:%d", d.Len())
	}
	k, okK := d.Lookup("k")
	v, okV := d.Lookup("v")
	if !okK || !okV {
		return nil, v, mongoerr.New(40393, "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: %s", names(d))
	}
	if name, ok = k.Text(); !ok || k.Type != bson.TypeString {
		return nil, v, mongoerr.New(40394, "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. Found type: %s", k.Type)
	}
	if bytes.IndexByte(name, 0) >= 0 {
		return nil, v, mongoerr.New(4940401, "Key field cannot contain an embedded null byte")
	}
	return name, v, nil
}
