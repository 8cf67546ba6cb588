package path

import (
	"sync"

	"github.com/cantledb/cantle/bson"
)

// Lookup returns the value of the path by the rules of an aggregation expression "$a.b". Without arrays on the path,
// the value aliases doc and nothing is allocated. For an array on the path, the value is an array (in the arena) of
// the values in its documents: missing values and elements that are not documents are skipped, and digits are plain
// names.
// Manual: core/field-paths.
func (p Path) Lookup(doc bson.Raw, arena *bson.Arena) bson.Value {
	return p.LookupValue(doc.Value(), arena)
}

// LookupValue is Lookup on any value: "$$var.a.b".
func (p Path) LookupValue(v bson.Value, arena *bson.Arena) bson.Value {
	for i := range p.parts {
		switch v.Type {
		case bson.TypeDocument:
			v, _ = bson.Raw(v.Data).Lookup(p.parts[i].Name)
		case bson.TypeArray:
			w := arrays.Get().(*array)
			w.ResetArray(w.buf[:0])
			p.mapped(bson.Raw(v.Data), i, &w.Builder)
			w.buf = w.Finish()
			v = bson.Value{Type: bson.TypeArray, Data: arena.Copy(w.buf)}
			if cap(w.buf) <= 1<<16 {
				arrays.Put(w)
			}
			return v
		default:
			return bson.Value{}
		}
	}
	return v
}

// array is the builder of an array that Lookup makes, with its memory, which the next Lookup reuses.
type array struct {
	bson.Builder
	buf []byte
}

var arrays = sync.Pool{New: func() any { return new(array) }}

// mapped appends for each document of an array the value at components i and later, if it has one; for an array on that
// way, an array of such values. Other elements are skipped.
func (p Path) mapped(arr bson.Raw, i int, b *bson.Builder) {
	for it := arr.Iter(); it.Next(); {
		v := it.Value
		if v.Type != bson.TypeDocument {
			continue
		}
		for j := i; ; j++ {
			if j == len(p.parts) {
				b.Value("", v)
				break
			}
			if v.Type == bson.TypeArray {
				b.BeginArray("")
				p.mapped(bson.Raw(v.Data), j, b)
				b.End()
				break
			}
			if v.Type != bson.TypeDocument {
				break
			}
			v, _ = bson.Raw(v.Data).Lookup(p.parts[j].Name)
		}
	}
}

// Get returns the value at the path through documents only: it is missing if there is an array before the end of the
// path.
func (p Path) Get(doc bson.Raw) bson.Value {
	v := doc.Value()
	for i := range p.parts {
		if v.Type != bson.TypeDocument {
			return bson.Value{}
		}
		v, _ = bson.Raw(v.Data).Lookup(p.parts[i].Name)
	}
	return v
}
