package keystring

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrCorrupt marks bytes that Append did not write.
var ErrCorrupt = errors.New("keystring: corrupt key")

// depthMax limits the nesting in keys that Append did not write.
const depthMax = 400

// Skip returns the length in bytes of the first encoded value in key, without decoding it.
//
// Errors: ErrCorrupt.
func Skip(key []byte, dir Dir) (n int, err error) {
	var m byte // inverts the bytes of a descending value
	if dir == Descending {
		m = 0xFF
	}
	n = skipValue(key, m, 0)
	if n < 0 || n > len(key) {
		return 0, ErrCorrupt
	}
	return n, nil
}

// skipValue returns the length of the first encoded value in key; -1 (or a length beyond key) if the key is corrupt.
// m inverts the bytes of a descending value.
func skipValue(key []byte, m byte, depth int) int {
	if len(key) == 0 || depth > depthMax {
		return -1
	}
	switch key[0] ^ m {
	case tMinKey, tUndefined, tNull, tNaN, tZero, tFalse, tTrue, tMaxKey:
		return 1
	case tNegative:
		return skipNumber(key, ^m)
	case tPositive:
		return skipNumber(key, m)
	case tString, tCode:
		return plus(1, skipEscaped(key[1:], m))
	case tObject:
		return plus(1, skipObject(key[1:], m, depth+1))
	case tArray:
		n := 1
		for {
			if n >= len(key) {
				return -1
			}
			if key[n]^m == 0 {
				return n + 1
			}
			k := skipValue(key[n:], m, depth+1)
			if k < 0 {
				return -1
			}
			n += k
		}
	case tBinary, tDBPointer:
		if len(key) < 5 {
			return -1
		}
		l := int(binary.BigEndian.Uint32(key[1:]))
		if m != 0 {
			l = int(^uint32(l))
		}
		if key[0]^m == tBinary {
			l++ // the subtype
		}
		return 5 + l
	case tObjectID:
		return 13
	case tDate, tTimestamp:
		return 9
	case tRegex:
		n := bytes.IndexByte(key[1:], m)
		if n < 0 {
			return -1
		}
		o := bytes.IndexByte(key[n+2:], m)
		if o < 0 {
			return -1
		}
		return n + 2 + o + 1
	case tCodeScope:
		n := plus(1, skipEscaped(key[1:], m))
		if n < 0 {
			return -1
		}
		return plus(n, skipObject(key[n:], m, depth+1))
	}
	return -1
}

// plus adds lengths, each of which may be -1.
func plus(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

func skipNumber(key []byte, m byte) int {
	n := 1
	for ; n < len(key) && n <= 9; n++ {
		if (key[n]^m)&1 == 0 {
			return n + 1
		}
	}
	for n += 2; n < len(key); n++ {
		if (key[n]^m)&1 == 0 {
			return n + 1
		}
	}
	return -1
}

func skipEscaped(b []byte, m byte) int {
	for n := 0; ; {
		i := bytes.IndexByte(b[n:], m)
		if i < 0 || n+i+1 >= len(b) {
			return -1
		}
		n += i + 2
		switch b[n-1] ^ m {
		case 1:
			return n
		case 0xFF:
		default:
			return -1
		}
	}
}

func skipObject(b []byte, m byte, depth int) int {
	for n := 0; ; {
		if n >= len(b) {
			return -1
		}
		if b[n]^m == 0 {
			return n + 1
		}
		i := bytes.IndexByte(b[n+1:], m)
		if i < 0 {
			return -1
		}
		n += i + 2
		k := skipValue(b[n:], m, depth)
		if k < 0 {
			return -1
		}
		if n += k; n > len(b) {
			return -1
		}
	}
}
