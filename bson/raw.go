package bson

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
)

// Raw holds the bytes of one complete BSON document or array body, length prefix and trailing zero included. It
// aliases memory of the caller.
type Raw []byte

// Empty is the document without fields.
var Empty = Raw{5, 0, 0, 0, 0}

// Field is one element: its name (aliasing the document) and value.
type Field struct {
	Name  []byte
	Value Value
}

// Iter is an iterator over the elements of a Raw that never allocates, for code in which a range-over-func closure
// would allocate.
type Iter struct {
	doc []byte
	pos int
	// Name and Value of the current element; both alias the document.
	Name  []byte
	Value Value
}

// Iter starts before the first element.
func (r Raw) Iter() Iter { return Iter{doc: r, pos: 4} }

// IterAt returns an iterator that starts before the element at offset p of r, a result of Iter.Offset.
func (r Raw) IterAt(p int) Iter { return Iter{doc: r, pos: p} }

// Offset returns the offset, in the document r that the iterator walks, at which the next element begins. IterAt
// continues there.
func (it *Iter) Offset(r Raw) int { return it.pos }

// Next steps to the next element.
func (it *Iter) Next() bool {
	r, p := it.doc, it.pos
	if p >= len(r) || r[p] == 0 {
		return false
	}
	t := Type(r[p])
	p++
	end := p + zeroAt(r[p:])
	if end < p {
		it.pos = len(r)
		return false
	}
	it.Name = r[p:end:end]
	p = end + 1
	size := sizeAt(t, r[p:])
	if size < 0 {
		it.pos = len(r)
		return false
	}
	it.Value = Value{Type: t, Data: r[p : p+size : p+size]}
	it.pos = p + size
	return true
}

// zeroAt returns the position of the first zero byte of b, -1 if there is none. Field names are short: one word
// usually holds them, and calling IndexByte costs more.
func zeroAt(b []byte) int {
	if len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		if z := (w - 0x0101010101010101) &^ w & 0x8080808080808080; z != 0 {
			return bits.TrailingZeros64(z) >> 3
		}
	}
	return bytes.IndexByte(b, 0)
}

// Fields returns an iterator over the elements in stored order; name and value alias r.
func (r Raw) Fields() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		it := r.Iter()
		for it.Next() {
			if !yield(it.Name, it.Value) {
				return
			}
		}
	}
}

// Values ranges over the values only: the elements of an array.
func (r Raw) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		it := r.Iter()
		for it.Next() {
			if !yield(it.Value) {
				return
			}
		}
	}
}

// Lookup returns the value of the first field called name; the flag is false if there is none. It compares names in
// place and skips values by length; it does not allocate.
func (r Raw) Lookup(name string) (Value, bool) {
	p := 4
	for p < len(r) && r[p] != 0 {
		t := Type(r[p])
		p++
		b := r[p:]
		n := len(name)
		hit := len(b) > n && b[n] == 0 && string(b[:n]) == name
		if !hit {
			if n = zeroAt(b); n < 0 {
				break
			}
		}
		b = b[n+1:]
		size := sizeAt(t, b)
		if size < 0 {
			break
		}
		if hit {
			return Value{Type: t, Data: b[:size:size]}, true
		}
		p += n + 1 + size
	}
	return Value{}, false
}

// Has reports whether the document has a field.
func (r Raw) Has(name string) bool {
	_, ok := r.Lookup(name)
	return ok
}

// Scan looks up several names in one pass over a document. From offset p on (4 at first) it finds the next element
// whose name is one of names. which is the index of this name, -1 if there is no such element; next is the offset
// after the element.
func (r Raw) Scan(p int, names []string) (which int, v Value, next int) {
	for p < len(r) && r[p] != 0 {
		t := Type(r[p])
		p++
		b := r[p:]
		n := zeroAt(b)
		if n < 0 {
			break
		}
		which := -1
		for i := range names {
			// Names of one document often differ only in their last byte.
			if name := names[i]; len(name) == n && (n == 0 || name[n-1] == b[n-1]) && string(b[:n]) == name {
				which = i
				break
			}
		}
		b = b[n+1:]
		size := sizeAt(t, b)
		if size < 0 {
			break
		}
		p += n + 1 + size
		if which >= 0 {
			return which, Value{Type: t, Data: b[:size:size]}, p
		}
	}
	return -1, Value{}, len(r)
}

// Get returns the value of the first field called name, missing if there is no such field.
func (r Raw) Get(name string) Value {
	v, _ := r.Lookup(name)
	return v
}

// Index returns the i-th element of an array, by position and not by name; the flag is false if there are fewer
// elements.
func (r Raw) Index(i int) (Value, bool) {
	it := r.Iter()
	for it.Next() {
		if i == 0 {
			return it.Value, true
		}
		i--
	}
	return Value{}, false
}

// Len counts the elements.
func (r Raw) Len() int {
	n := 0
	for it := r.Iter(); it.Next(); {
		n++
	}
	return n
}

// IsEmpty reports whether the document has no elements.
func (r Raw) IsEmpty() bool { return len(r) <= 5 }

// First returns the first element.
func (r Raw) First() (Field, bool) {
	it := r.Iter()
	if !it.Next() {
		return Field{}, false
	}
	return Field{it.Name, it.Value}, true
}

// Elements returns the bytes of all elements, without length prefix and trailing zero. They can be spliced into
// another document.
func (r Raw) Elements() []byte {
	if len(r) < 5 {
		return nil
	}
	return r[4 : len(r)-1]
}

// Clone copies the bytes.
func (r Raw) Clone() Raw { return bytes.Clone(r) }

// Value returns the document as a value.
func (r Raw) Value() Value { return Value{Type: TypeDocument, Data: r} }

// ArrayValue returns an array body as a value.
func (r Raw) ArrayValue() Value { return Value{Type: TypeArray, Data: r} }

// Size returns the length in the document's length prefix.
func (r Raw) Size() int {
	if len(r) < 4 {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(r)))
}
