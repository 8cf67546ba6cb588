package keystring

import (
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
)

// TypeBits collect the information about values that their encoding does not contain: types other than the assumed
// ones, exponents of decimals, the sign of zero, and under a collation the strings themselves. Without an entry,
// Decode assumes null; string; int32 for whole numbers in its range; double for other doubles; int64 for other whole
// numbers in its range; decimal without trailing zeros.
//
// The bytes are empty in the common case. An entry is one byte, with the distance from the value of the last entry
// in the high four bits (15: a uvarint with it follows) and the code in the low four bits, followed by the data of
// the code. Values are counted depth first over the whole key.
type TypeBits struct {
	ordinal int // number of values so far
	last    int // ordinal of the last entry
	b       []byte
}

// The codes of entries.
const (
	codeInt64        = 1
	codeDouble       = 2
	codeNegativeZero = 3 // double -0.0
	codeDecimal      = 4 // u16 little-endian: biased exponent, sign of a zero in the top bit
	codeSymbol       = 5
	codeMissing      = 6
	codeText         = 7 // uvarint length, bytes of a string
	codeSymbolText   = 8 // the same of a symbol
)

// Reset starts a new key and reuses the memory.
func (t *TypeBits) Reset() { *t = TypeBits{b: t.b[:0]} }

// Bytes returns the type bits to be stored with the key; they alias t until the next Reset or Append.
func (t *TypeBits) Bytes() []byte { return t.b }

// add adds an entry with this code for the current value; a nil t ignores it.
func (t *TypeBits) add(code byte) {
	if t == nil {
		return
	}
	distance := t.ordinal - t.last
	t.last = t.ordinal
	if distance < 15 {
		t.b = append(t.b, byte(distance)<<4|code)
		return
	}
	t.b = append(t.b, 15<<4|code)
	t.b = binary.AppendUvarint(t.b, uint64(distance))
}

func (t *TypeBits) addDecimal(neg bool, exp int) {
	if t == nil {
		return
	}
	t.add(codeDecimal)
	e := uint16(exp + expBias)
	if neg {
		e |= 1 << 15
	}
	t.b = binary.LittleEndian.AppendUint16(t.b, e)
}

func (t *TypeBits) addText(typ bson.Type, s []byte, keep bool) {
	switch {
	case !keep:
		t.add(codeSymbol)
		return
	case typ == bson.TypeSymbol:
		t.add(codeSymbolText)
	default:
		t.add(codeText)
	}
	t.b = binary.AppendUvarint(t.b, uint64(len(s)))
	t.b = append(t.b, s...)
}

// bitReader reads the entries in order.
type bitReader struct {
	rest    []byte
	ordinal int  // number of values so far
	next    int  // ordinal of the pending entry, 0 for none
	code    byte // of the pending entry
}

// value advances to the next value of the key and returns the code of its entry, 0 without an entry.
func (r *bitReader) value() (code byte, err error) {
	if r.next == 0 && len(r.rest) > 0 {
		distance := uint64(r.rest[0] >> 4)
		r.code = r.rest[0] & 15
		r.rest = r.rest[1:]
		if distance == 15 {
			var n int
			if distance, n = binary.Uvarint(r.rest); n <= 0 || distance > 1<<30 {
				return 0, ErrCorrupt
			}
			r.rest = r.rest[n:]
		}
		if distance == 0 {
			return 0, ErrCorrupt
		}
		r.next = r.ordinal + int(distance)
	}
	r.ordinal++
	if r.next != r.ordinal {
		return 0, nil
	}
	r.next = 0
	return r.code, nil
}

// decimal reads the data of codeDecimal.
func (r *bitReader) decimal() (neg bool, exp int, err error) {
	if len(r.rest) < 2 {
		return false, 0, ErrCorrupt
	}
	e := binary.LittleEndian.Uint16(r.rest)
	r.rest = r.rest[2:]
	exp = int(e&^(1<<15)) - expBias
	if exp < bson.DecimalMinExponent || exp > bson.DecimalMaxExponent {
		return false, 0, ErrCorrupt
	}
	return e>>15 != 0, exp, nil
}

// text reads the data of codeText.
func (r *bitReader) text() ([]byte, error) {
	n, w := binary.Uvarint(r.rest)
	if w <= 0 || n > uint64(len(r.rest)-w) {
		return nil, ErrCorrupt
	}
	s := r.rest[w : w+int(n)]
	r.rest = r.rest[w+int(n):]
	return s, nil
}
