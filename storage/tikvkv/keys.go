package tikvkv

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// These constants are the first bytes of the keys of a store, after the prefix with its name; the package comment has
// the formats.
//
// The first key of a transaction, in the order of keys, is its primary key, which decides whether the transaction is
// committed. In a transaction with log records that is the key of a log record, which no other transaction ever
// touches.
const (
	spaceDrop  = 'd' // ranges that are to be removed, see dropped_range.go
	spaceLog   = 'l' // log records, see log_keys.go
	spaceOwner = 'o' // the rows of the exclusive server and of members, see owner.go and member_row.go
	spaceMark  = 't' // truncations of streams
	spaceUser  = 'u' // values, see chunks.go
	spaceChunk = 'v' // chunks of large values
)

// keyBytesMax bounds a key. TiKV refuses keys of more than 8 KiB after its own encoding, which
// turns eight bytes into nine.
const keyBytesMax = 7000

// layout builds the keys of one store.
type layout struct{ prefix []byte }

// newLayout returns the layout of a keyspace. Errors: an invalid name.
func newLayout(name string) (layout, error) {
	if name == "" || len(name) > 64 {
		return layout{}, errors.New("the name of the keyspace has 1 to 64 characters")
	}
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return layout{}, fmt.Errorf("the name of the keyspace has letters, digits, dots and dashes, not %q", c)
		}
	}
	return layout{[]byte("cantle/" + name + "/")}, nil
}

// in returns a key of a space.
func (l layout) in(space byte, key []byte) []byte {
	out := make([]byte, 0, len(l.prefix)+1+len(key))
	return append(append(append(out, l.prefix...), space), key...)
}

// space returns the bounds of a space.
func (l layout) space(space byte) (start, end []byte) { return l.in(space, nil), l.in(space+1, nil) }

func (l layout) user(key []byte) []byte { return l.in(spaceUser, key) }

// userKeyOf returns the user key within a key of the cluster.
func (l layout) userKeyOf(key []byte) []byte { return key[len(l.prefix)+1:] }

// users returns the bounds of a range of user keys.
func (l layout) users(r storage.Range) (start, end []byte) {
	if r.End == nil {
		return l.user(r.Start), l.in(spaceUser+1, nil)
	}
	return l.user(r.Start), l.user(r.End)
}

// chunk returns the key of the n-th chunk of a large value.
func (l layout) chunk(key []byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(l.in(spaceChunk, escape(key, true)), n)
}

// chunks returns the bounds of the chunks of all values in a range of user keys.
func (l layout) chunks(r storage.Range) (start, end []byte) {
	if r.End == nil {
		return l.in(spaceChunk, escape(r.Start, false)), l.in(spaceChunk+1, nil)
	}
	return l.in(spaceChunk, escape(r.Start, false)), l.in(spaceChunk, escape(r.End, false))
}

// escape encodes a key so that no encoded key is a prefix of another one; the order stays the
// same. A zero byte becomes 0 255, and 0 1 marks the end. Without the end mark the result is a
// bound of a range.
func escape(key []byte, end bool) []byte {
	out := make([]byte, 0, len(key)+len(key)/4+2)
	for _, c := range key {
		out = append(out, c)
		if c == 0 {
			out = append(out, 255)
		}
	}
	if end {
		out = append(out, 0, 1)
	}
	return out
}
