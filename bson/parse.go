package bson

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// ErrInvalid, ErrTooDeep and ErrTooLarge are the errors of Parse. Callers test with errors.Is; the chain around
// every command converts them to InvalidBSON (22), Overflow (15) and BSONObjectTooLarge (10334).
var (
	// ErrInvalid marks bytes that are not a BSON document.
	ErrInvalid = errors.New("invalid BSON")
	// ErrTooDeep marks nesting beyond Limits.Depth.
	ErrTooDeep = errors.New("BSON nesting too deep")
	// ErrTooLarge marks a document longer than Limits.Bytes.
	ErrTooLarge = errors.New("BSON document too large")
)

// Limits bounds what Parse accepts. A zero field means the default.
type Limits struct {
	Bytes int // maximal size of a document; default MaxInternalBytes
	Depth int // maximal nesting; default MaxDepth
}

// MaxDocumentBytes is the user-visible document limit, 16 MiB.
// Manual: reference/limits#std-label-limit-bson-document-size.
const MaxDocumentBytes = 16 << 20

// MaxInternalBytes is the largest size in bytes of a document inside the server: it leaves room for bytes that the
// server adds to a document of 16 MiB, as a command contains a document.
const MaxInternalBytes = MaxDocumentBytes + 16<<10

// MaxDepth is the largest nesting of a document that Parse accepts. It is some levels more than a stored document
// may have, because commands wrap documents.
// Manual: reference/limits#std-label-limit-nested-depth.
const MaxDepth = 200

// Parse validates that b begins with one complete document and returns exactly its bytes, without copying. It is the
// only validation in the server: lengths, tags, names, booleans, terminators, nesting and UTF-8 of names are checked;
// string payloads may hold any bytes, as MongoDB accepts them.
//
// Errors: ErrInvalid, ErrTooDeep, ErrTooLarge.
func Parse(b []byte, lim Limits) (Raw, error) {
	if lim.Bytes == 0 {
		lim.Bytes = MaxInternalBytes
	}
	if lim.Depth == 0 {
		lim.Depth = MaxDepth
	}
	if len(b) < 5 {
		return nil, fmt.Errorf("%w: %d bytes are too short for a document", ErrInvalid, len(b))
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 5 || n > len(b) {
		return nil, fmt.Errorf("%w: stated length %d does not fit into %d bytes", ErrInvalid, n, len(b))
	}
	if n > lim.Bytes {
		return nil, fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, n, lim.Bytes)
	}
	if err := validate(b[:n], lim.Depth); err != nil {
		return nil, err
	}
	return Raw(b[:n:n]), nil
}

// validate checks a document whose length prefix equals len(b).
func validate(b []byte, depth int) error {
	if depth <= 0 {
		return ErrTooDeep
	}
	if b[len(b)-1] != 0 {
		return fmt.Errorf("%w: document does not end with a zero byte", ErrInvalid)
	}
	rest := b[4 : len(b)-1]
	for len(rest) > 0 {
		t := Type(rest[0])
		n, ascii := nameLength(rest[1:])
		if n < 0 {
			return fmt.Errorf("%w: field name without end", ErrInvalid)
		}
		name := rest[1 : 1+n]
		if !ascii && !utf8.Valid(name) {
			return fmt.Errorf("%w: field name is not UTF-8", ErrInvalid)
		}
		rest = rest[n+2:]
		if size := int(fixedSizes[t]); size > 1 && size <= len(rest) {
			rest = rest[size:] // any bytes of these types are valid
			continue
		}
		size := elementSize(t, rest)
		if size < 0 {
			return fmt.Errorf("%w: field %q of type %d does not fit", ErrInvalid, name, byte(t))
		}
		if t == TypeString {
			if rest[size-1] != 0 {
				return fmt.Errorf("%w: string does not end with a zero byte in field %q", ErrInvalid, name)
			}
		} else if err := validateValue(t, rest[:size], depth); err != nil {
			if errors.Is(err, ErrTooDeep) {
				return err
			}
			return fmt.Errorf("%w in field %q", err, name)
		}
		rest = rest[size:]
	}
	return nil
}

func validateValue(t Type, b []byte, depth int) error {
	switch t {
	case TypeCode, TypeSymbol:
		if b[len(b)-1] != 0 {
			return fmt.Errorf("%w: string does not end with a zero byte", ErrInvalid)
		}
	case TypeDocument, TypeArray:
		return validate(b, depth-1)
	case TypeBool:
		if b[0] > 1 {
			return fmt.Errorf("%w: boolean byte %d", ErrInvalid, b[0])
		}
	case TypeBinary:
		if b[4] == 2 && (len(b) < 9 || int(binary.LittleEndian.Uint32(b[5:])) != len(b)-9) {
			return fmt.Errorf("%w: old binary lengths disagree", ErrInvalid)
		}
	case TypeDBPointer:
		if b[len(b)-13] != 0 {
			return fmt.Errorf("%w: DBPointer namespace does not end with a zero byte", ErrInvalid)
		}
	case TypeCodeScope:
		n := int(int32(binary.LittleEndian.Uint32(b[4:])))
		if n < 1 || 8+n+5 > len(b) || b[8+n-1] != 0 {
			return fmt.Errorf("%w: code with scope", ErrInvalid)
		}
		scope := b[8+n:]
		if int(int32(binary.LittleEndian.Uint32(scope))) != len(scope) {
			return fmt.Errorf("%w: scope length", ErrInvalid)
		}
		return validate(scope, depth-1)
	}
	return nil
}

// nameLength returns the position of the first zero byte of b, the end of a name, as zeroAt does, and whether all
// bytes before are ASCII.
func nameLength(b []byte) (n int, ascii bool) {
	if len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		if z := (w - 0x0101010101010101) &^ w & 0x8080808080808080; z != 0 {
			n = bits.TrailingZeros64(z) >> 3
			return n, w&(1<<(8*n)-1)&0x8080808080808080 == 0
		}
	}
	n = bytes.IndexByte(b, 0)
	for i := 0; i < n; i++ {
		if b[i] >= utf8.RuneSelf {
			return n, false
		}
	}
	return n, true
}

// Depth returns the number of nested levels of a valid document: 1 for a flat one.
func (r Raw) Depth() int {
	deepest := 0
	for it := r.Iter(); it.Next(); {
		if t := it.Value.Type; t == TypeDocument || t == TypeArray {
			deepest = max(deepest, Raw(it.Value.Data).Depth())
		}
	}
	return deepest + 1
}
