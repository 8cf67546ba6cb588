package bson

import (
	"encoding/binary"
	"math"
)

// Arena holds the bytes of computed values in memory that is freed at once. Values stay valid until Reset, or Release
// of an older mark, also while the arena grows: it allocates chunks and never moves a chunk that is in use. The zero
// Arena is ready to use. Not safe for concurrent use.
type Arena struct {
	chunk []byte   // the chunk being filled
	full  [][]byte // earlier chunks, dropped by Reset
	held  int      // total capacity of the chunks
}

const arenaChunk = 4 << 10

// Reset makes all memory available again. Values made before are invalid.
func (a *Arena) Reset() {
	a.forget(0)
	a.chunk = a.chunk[:0]
	if cap(a.chunk) > 1<<20 {
		a.held -= cap(a.chunk)
		a.chunk = nil
	}
}

// Held returns the number of bytes of the arena's chunks, adopted ones included, used or not.
func (a *Arena) Held() int { return a.held }

// forget drops the full chunks from the n-th on.
func (a *Arena) forget(n int) {
	for i, c := range a.full[n:] {
		a.held -= cap(c)
		a.full[n+i] = nil
	}
	a.full = a.full[:n]
}

// begin continues in another chunk.
func (a *Arena) begin(chunk []byte) {
	if len(a.chunk) > 0 {
		a.full = append(a.full, a.chunk)
	} else {
		a.held -= cap(a.chunk)
	}
	a.chunk = chunk
	a.held += cap(chunk)
}

// Adopt makes the slice b a part of the arena without copying it, so that values can refer to it. The arena also uses
// the capacity of b beyond its length. The caller must not write to b afterwards.
func (a *Arena) Adopt(b []byte) []byte {
	a.begin(b)
	return b[:len(b):len(b)]
}

// Alloc returns n bytes of the arena with capacity n.
func (a *Arena) Alloc(n int) []byte {
	if cap(a.chunk)-len(a.chunk) < n {
		a.begin(make([]byte, 0, max(arenaChunk, n, min(2*cap(a.chunk), 1<<20))))
	}
	s := len(a.chunk)
	a.chunk = a.chunk[: s+n : cap(a.chunk)]
	return a.chunk[s : s+n : s+n]
}

// Copy copies b into the arena.
func (a *Arena) Copy(b []byte) []byte {
	p := a.Alloc(len(b))
	copy(p, b)
	return p
}

// Keep copies v into the arena.
func (a *Arena) Keep(v Value) Value {
	if len(v.Data) > 0 {
		v.Data = a.Copy(v.Data)
	}
	return v
}

// Double returns a double.
func (a *Arena) Double(f float64) Value {
	p := a.Alloc(8)
	binary.LittleEndian.PutUint64(p, math.Float64bits(f))
	return Value{TypeDouble, p}
}

// Int32 returns an int32.
func (a *Arena) Int32(n int32) Value {
	p := a.Alloc(4)
	binary.LittleEndian.PutUint32(p, uint32(n))
	return Value{TypeInt32, p}
}

// Int64 returns an int64.
func (a *Arena) Int64(n int64) Value {
	p := a.Alloc(8)
	binary.LittleEndian.PutUint64(p, uint64(n))
	return Value{TypeInt64, p}
}

// Int returns n as the smallest integer type that holds it.
func (a *Arena) Int(n int64) Value {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		return a.Int32(int32(n))
	}
	return a.Int64(n)
}

// Decimal returns a decimal128.
func (a *Arena) Decimal(d Decimal128) Value {
	p := a.Alloc(16)
	binary.LittleEndian.PutUint64(p, d.Lo)
	binary.LittleEndian.PutUint64(p[8:], d.Hi)
	return Value{TypeDecimal128, p}
}

// DateTime returns a date of ms milliseconds since the Unix epoch.
func (a *Arena) DateTime(ms int64) Value {
	v := a.Int64(ms)
	v.Type = TypeDateTime
	return v
}

// Timestamp returns a timestamp.
func (a *Arena) Timestamp(t, i uint32) Value {
	v := a.Int64(int64(t)<<32 | int64(i))
	v.Type = TypeTimestamp
	return v
}

// String returns a string from s.
func (a *Arena) String(s string) Value { return stringIn(a, s) }

// StringBytes returns a string from bytes.
func (a *Arena) StringBytes(s []byte) Value { return stringIn(a, s) }

func stringIn[S string | []byte](a *Arena, s S) Value {
	p := a.Alloc(len(s) + 5)
	binary.LittleEndian.PutUint32(p, uint32(len(s)+1))
	copy(p[4:], s)
	p[len(p)-1] = 0
	return Value{TypeString, p}
}

// ObjectID returns an ObjectId.
func (a *Arena) ObjectID(id [12]byte) Value { return Value{TypeObjectID, a.Copy(id[:])} }

// Binary returns a binary value.
func (a *Arena) Binary(subtype byte, b []byte) Value {
	p := a.Alloc(len(b) + 5)
	binary.LittleEndian.PutUint32(p, uint32(len(b)))
	p[4] = subtype
	copy(p[5:], b)
	return Value{TypeBinary, p}
}

// Regex returns a regular expression with sorted options.
func (a *Arena) Regex(pattern, options string) Value {
	options = sortedOptions(options)
	p := a.Alloc(len(pattern) + len(options) + 2)
	copy(p, pattern)
	p[len(pattern)] = 0
	copy(p[len(pattern)+1:], options)
	p[len(p)-1] = 0
	return Value{TypeRegex, p}
}

// Doc returns a document value: a copy, in the arena, of the document that fill builds.
func (a *Arena) Doc(fill func(b *Builder)) Value {
	var b Builder
	b.Reset(nil)
	fill(&b)
	return Value{TypeDocument, a.Copy(b.Doc())}
}

// Array returns an array value, in the arena, of the given values; missing values become null.
func (a *Arena) Array(vs []Value) Value {
	var b Builder
	b.Reset(nil)
	b.stack[0].next = 0
	for _, v := range vs {
		if v.Type == TypeMissing {
			v = Null
		}
		b.Value("", v)
	}
	return Value{TypeArray, a.Copy(b.Doc())}
}

// NewArrayBuilder returns a Builder whose outermost level is an array body.
func NewArrayBuilder(dst []byte) *Builder {
	b := NewBuilder(dst)
	b.stack[0].next = 0
	return b
}

// ArenaMark is a position to which Release can return.
type ArenaMark struct{ full, used int }

// Mark returns the current position.
func (a *Arena) Mark() ArenaMark { return ArenaMark{len(a.full), len(a.chunk)} }

// Release gives back the memory that the arena took since the mark m, except for the newest chunk, which is used
// next. Values made since then are invalid, older ones stay valid. A loop that calls Mark and Release in each round
// runs in constant memory.
func (a *Arena) Release(m ArenaMark) {
	if len(a.full) > m.full {
		older := m.full
		if m.used > 0 {
			older++ // the chunk that was current at m; begin drops an empty one
		}
		a.forget(older)
		a.chunk = a.chunk[:0] // the newest chunk is kept, which avoids an allocation in every round of a loop
		return
	}
	a.chunk = a.chunk[:m.used]
}
