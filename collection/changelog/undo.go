package changelog

import (
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
)

// An undo restores a document before a change from the document after it:
//
//	uvarint prefix, uvarint suffix, the bytes of the old document between them
//
// prefix and suffix count the bytes behind the length field that both documents share at their
// beginning and at their end. For an update of a few fields an undo is little more than the old
// values. It also restores the order of fields, which the delta of an update does not contain.

// lengthBytes is the size of the length field at the beginning of a document. An undo leaves that field out, because
// it follows from the rest.
const lengthBytes = 4

// AppendUndo appends the undo that restores old, the document before a change, from doc, the document after it. A nil
// doc means that the change left no document: the undo then has all bytes of old.
func AppendUndo(dst []byte, old, doc bson.Raw) []byte {
	a := []byte(old[lengthBytes:])
	var prefix, suffix int
	if len(doc) > 0 {
		b := []byte(doc[lengthBytes:])
		prefix = commonPrefix(a, b)
		suffix = commonSuffix(a[prefix:], b[prefix:])
	}
	dst = binary.AppendUvarint(dst, uint64(prefix))
	dst = binary.AppendUvarint(dst, uint64(suffix))
	return append(dst, a[prefix:len(a)-suffix]...)
}

// Before appends the document that a change replaced, given the result doc of the change; doc is nil after a delete.
// It fails for the record of an insert, before which there was no document, and for a record whose prefix and suffix
// are longer than doc. Errors: ErrFormat.
func (r *Record) Before(dst []byte, doc bson.Raw) ([]byte, error) {
	if len(r.Pre) > 0 {
		return append(dst, r.Pre...), nil
	}
	var rest []byte
	if len(doc) > 0 {
		rest = doc[lengthBytes:]
	}
	prefix, n := binary.Uvarint(r.Undo)
	if n <= 0 {
		return dst, ErrFormat
	}
	suffix, k := binary.Uvarint(r.Undo[n:])
	if k <= 0 || prefix > uint64(len(rest)) || suffix > uint64(len(rest))-prefix {
		return dst, ErrFormat
	}
	middle := r.Undo[n+k:]
	size := lengthBytes + int(prefix) + len(middle) + int(suffix)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	dst = append(dst, rest[:prefix]...)
	dst = append(dst, middle...)
	return append(dst, rest[len(rest)-int(suffix):]...), nil
}

// commonPrefix returns the number of bytes that a and b share at their beginning.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// commonSuffix returns the number of bytes that a and b share at their end.
func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	i := n
	for i >= 8 && binary.LittleEndian.Uint64(a[i-8:]) == binary.LittleEndian.Uint64(b[i-8:]) {
		i -= 8
	}
	for i > 0 && a[i-1] == b[i-1] {
		i--
	}
	return n - i
}
