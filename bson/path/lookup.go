package path

import (
	"sync"

	"github.com/cantledb/cantle/bson"
)

// Lookup returns the value of p as an aggregation expression "$a.b" sees it.
// Without arrays on the way it aliases doc and allocates nothing. An array on
// the way gives an array (in the arena) of the values of its documents: missing
// ones and elements that are not documents are skipped, digits are plain names.
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

// array is a builder and its memory, used again by the next Lookup.
type array struct {
	bson.Builder
	buf []byte
}

var arrays = sync.Pool{New: func() any { return new(array) }}

// mapped appends the values of the documents of an array.
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

// Get returns the value of p through documents only: missing as soon as the way
// meets an array. Shard keys and update paths read so.
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
