package bson

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Builder builds one BSON document at the end of a byte slice. The outermost document is open from NewBuilder on;
// Finish closes it. Begin and End nest documents and arrays; inside an array the name of each element is its
// position and the caller passes "" for it.
//
// A Builder never fails: its output is well-formed if Begin and End match. Its bytes may move while it grows, so
// slices must be taken after Finish.
type Builder struct {
	buf   []byte
	stack []frame
	inl   [8]frame
	more  func(buf []byte, n int) []byte // see GrowBy
}

type frame struct {
	start int // position of the length prefix
	next  int // next array index, or -1 in a document
}

// NewBuilder opens a document at the end of dst.
func NewBuilder(dst []byte) *Builder {
	b := &Builder{}
	b.Reset(dst)
	return b
}

// GrowBy sets a function more, which is called when a value does not fit into the Builder's memory any more that Value,
// Raw, Array or Splice appends. more copies buf into memory with room for n more bytes and returns this copy; buf is
// not used again. The other functions, also for strings and binary values, may still move the bytes by append. nil, the
// default, uses only append.
func (b *Builder) GrowBy(more func(buf []byte, n int) []byte) { b.more = more }

// room makes room, by the function of GrowBy, for a value of n bytes and some small parts after it; without that
// function it does nothing.
func (b *Builder) room(n int) {
	if b.more != nil && cap(b.buf)-len(b.buf) < n+smallParts {
		b.buf = b.more(b.buf, n+smallParts)
	}
}

// smallParts is the room in bytes for the names, numbers and ends that follow a large value.
const smallParts = 512

// Reset opens a new document at the end of dst and drops the one before.
func (b *Builder) Reset(dst []byte) {
	b.buf = dst
	b.stack = append(b.inl[:0], frame{len(dst), -1})
	b.buf = append(b.buf, 0, 0, 0, 0)
}

// ResetArray is Reset with an array as the outermost level.
func (b *Builder) ResetArray(dst []byte) {
	b.Reset(dst)
	b.stack[0].next = 0
}

// Finish closes the outermost document and all that are open inside, and returns the whole slice: the previous
// contents of dst, then the document.
func (b *Builder) Finish() []byte {
	for len(b.stack) > 0 {
		b.End()
	}
	return b.buf
}

// Take is Finish for a caller that keeps the slice: the Builder does not use the memory any more.
func (b *Builder) Take() []byte {
	buf := b.Finish()
	b.buf = nil
	return buf
}

// Cap returns the length in bytes that the slice, dst included, may reach before its bytes move.
func (b *Builder) Cap() int { return cap(b.buf) }

// Grow moves the Builder's bytes to memory of exactly n bytes. n must not be less than Len.
func (b *Builder) Grow(n int) { b.buf = append(make([]byte, 0, n), b.buf...) }

// Doc closes the outermost document and returns only it.
func (b *Builder) Doc() Raw {
	start := b.stack[0].start
	return Raw(b.Finish()[start:])
}

// Len returns the length of everything written so far, dst included.
func (b *Builder) Len() int { return len(b.buf) }

// Count returns the number of elements of the innermost array.
func (b *Builder) Count() int { return b.stack[len(b.stack)-1].next }

// Mark returns the current end of the document, to which Cut can return. The mark is valid until the document or
// array that is innermost now is closed.
func (b *Builder) Mark() Mark { return Mark{len(b.buf), b.stack[len(b.stack)-1].next, len(b.stack)} }

// Mark is a position in a Builder.
type Mark struct{ len, next, depth int }

// Cut drops everything written since m.
func (b *Builder) Cut(m Mark) {
	b.buf = b.buf[:m.len]
	b.stack = b.stack[:m.depth]
	b.stack[m.depth-1].next = m.next
}

func (b *Builder) head(t Type, name string) {
	f := &b.stack[len(b.stack)-1]
	b.buf = append(b.buf, byte(t))
	if f.next >= 0 {
		b.buf = strconv.AppendInt(b.buf, int64(f.next), 10)
		f.next++
	} else {
		b.buf = append(b.buf, name...)
	}
	b.buf = append(b.buf, 0)
}

// BeginDoc opens a nested document.
func (b *Builder) BeginDoc(name string) { b.begin(TypeDocument, name, -1) }

// BeginArray opens a nested array.
func (b *Builder) BeginArray(name string) { b.begin(TypeArray, name, 0) }

func (b *Builder) begin(t Type, name string, next int) {
	b.head(t, name)
	b.stack = append(b.stack, frame{len(b.buf), next})
	b.buf = append(b.buf, 0, 0, 0, 0)
}

// End closes the innermost document or array.
func (b *Builder) End() {
	f := b.stack[len(b.stack)-1]
	b.stack = b.stack[:len(b.stack)-1]
	b.buf = append(b.buf, 0)
	binary.LittleEndian.PutUint32(b.buf[f.start:], uint32(len(b.buf)-f.start))
}

// Value appends any value; a missing one appends nothing.
func (b *Builder) Value(name string, v Value) {
	if v.Type == TypeMissing {
		return
	}
	b.head(v.Type, name)
	b.room(len(v.Data))
	b.buf = append(b.buf, v.Data...)
}

// ValueBytes is Value with the name as bytes.
func (b *Builder) ValueBytes(name []byte, v Value) {
	if v.Type == TypeMissing {
		return
	}
	f := &b.stack[len(b.stack)-1]
	if f.next >= 0 {
		b.head(v.Type, "")
	} else {
		b.buf = append(b.buf, byte(v.Type))
		b.buf = append(b.buf, name...)
		b.buf = append(b.buf, 0)
	}
	b.room(len(v.Data))
	b.buf = append(b.buf, v.Data...)
}

// BeginDocBytes opens a nested document with its name as bytes; BeginArrayBytes opens an array so.
func (b *Builder) BeginDocBytes(name []byte) { b.beginBytes(TypeDocument, name, -1) }

// BeginArrayBytes opens a nested array with its name as bytes.
func (b *Builder) BeginArrayBytes(name []byte) { b.beginBytes(TypeArray, name, 0) }

func (b *Builder) beginBytes(t Type, name []byte, next int) {
	if b.stack[len(b.stack)-1].next >= 0 {
		b.head(t, "")
	} else {
		b.buf = append(append(append(b.buf, byte(t)), name...), 0)
	}
	b.stack = append(b.stack, frame{len(b.buf), next})
	b.buf = append(b.buf, 0, 0, 0, 0)
}

// BeginNamedArray opens a nested array whose elements are named by the caller, so that runs of elements
// of another array can be spliced in.
func (b *Builder) BeginNamedArray(name []byte) {
	b.beginBytes(TypeArray, name, -1)
}

// Since returns the bytes that the Builder has written from offset n (an earlier Len) on; they are valid until the
// next write.
func (b *Builder) Since(n int) []byte { return b.buf[n:] }

// Splice appends the bytes of elements unchanged, with their names (see Raw.Elements). It must not be used inside an
// array, where names are numbers, unless BeginNamedArray has opened it.
func (b *Builder) Splice(elements []byte) {
	b.room(len(elements))
	b.buf = append(b.buf, elements...)
}

// Raw appends a document as a nested value.
func (b *Builder) Raw(name string, r Raw) { b.Value(name, Value{TypeDocument, r}) }

// Array appends an array body as a nested value.
func (b *Builder) Array(name string, r Raw) { b.Value(name, Value{TypeArray, r}) }

// Double appends a double.
func (b *Builder) Double(name string, f float64) {
	b.head(TypeDouble, name)
	b.buf = binary.LittleEndian.AppendUint64(b.buf, math.Float64bits(f))
}

// Int32 appends an int32.
func (b *Builder) Int32(name string, n int32) {
	b.head(TypeInt32, name)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(n))
}

// Int64 appends an int64.
func (b *Builder) Int64(name string, n int64) {
	b.head(TypeInt64, name)
	b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(n))
}

// Int appends n as an int32 if it fits, else as an int64, like MongoDB in counters of replies.
func (b *Builder) Int(name string, n int64) {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		b.Int32(name, int32(n))
	} else {
		b.Int64(name, n)
	}
}

// Bool appends a boolean.
func (b *Builder) Bool(name string, v bool) {
	b.head(TypeBool, name)
	if v {
		b.buf = append(b.buf, 1)
	} else {
		b.buf = append(b.buf, 0)
	}
}

// String appends a string.
func (b *Builder) String(name, s string) {
	b.head(TypeString, name)
	b.buf = appendString(b.buf, s)
}

// StringBytes appends a string given as bytes.
func (b *Builder) StringBytes(name string, s []byte) {
	b.head(TypeString, name)
	b.buf = appendString(b.buf, s)
}

func appendString[S string | []byte](dst []byte, s S) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)+1))
	dst = append(dst, s...)
	return append(dst, 0)
}

// Null appends null.
func (b *Builder) Null(name string) { b.head(TypeNull, name) }

// ObjectID appends an ObjectId.
func (b *Builder) ObjectID(name string, id [12]byte) {
	b.head(TypeObjectID, name)
	b.buf = append(b.buf, id[:]...)
}

// DateTime appends a date in milliseconds since the Unix epoch.
func (b *Builder) DateTime(name string, ms int64) {
	b.head(TypeDateTime, name)
	b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(ms))
}

// Timestamp appends a timestamp of t seconds and increment i.
func (b *Builder) Timestamp(name string, t, i uint32) {
	b.head(TypeTimestamp, name)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, i)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, t)
}

// Binary appends a binary value.
func (b *Builder) Binary(name string, subtype byte, p []byte) {
	b.head(TypeBinary, name)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, uint32(len(p)))
	b.buf = append(append(b.buf, subtype), p...)
}
