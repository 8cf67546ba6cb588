package tikvkv

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// The keys of a store in the cluster, all under the prefix of its name:
//
//	'd' range  a range of keys that is to be removed, see ranges.go
//	'l' stream log records, see logkeys.go
//	'o'        who uses the store, see lease.go
//	't' stream up to when a stream was truncated
//	'u' key    the value, see values.go
//	'v' key    chunks of a large value
//
// The first key of a transaction is the one that decides whether it is committed: with log
// records it is one of theirs, which no other transaction ever touches.
const (
	spaceDrop  = 'd'
	spaceLog   = 'l'
	spaceOwner = 'o'
	spaceMark  = 't'
	spaceUser  = 'u'
	spaceChunk = 'v'
)

// keyBytesMax bounds a key: TiKV refuses keys of more than 8 KiB after its own encoding, which
// makes nine bytes of eight.
const keyBytesMax = 7000

// layout makes the keys of one store.
type layout struct{ prefix []byte }

// newLayout is the layout of a store's name. Errors: what is no name.
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

// in is a key of one of the spaces.
func (l layout) in(space byte, key []byte) []byte {
	out := make([]byte, 0, len(l.prefix)+1+len(key))
	return append(append(append(out, l.prefix...), space), key...)
}

// space is the range of one of the spaces.
func (l layout) space(space byte) (start, end []byte) { return l.in(space, nil), l.in(space+1, nil) }

func (l layout) user(key []byte) []byte { return l.in(spaceUser, key) }

// unuser is the key in a key of the user space.
func (l layout) unuser(key []byte) []byte { return key[len(l.prefix)+1:] }

// users is a range of the user space.
func (l layout) users(r storage.Range) (start, end []byte) {
	if r.End == nil {
		return l.user(r.Start), l.in(spaceUser+1, nil)
	}
	return l.user(r.Start), l.user(r.End)
}

// chunk is the key of a chunk of a large value.
func (l layout) chunk(key []byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(l.in(spaceChunk, escape(key, true)), n)
}

// chunks is the range of the chunks of the values in a range of keys.
func (l layout) chunks(r storage.Range) (start, end []byte) {
	if r.End == nil {
		return l.in(spaceChunk, escape(r.Start, false)), l.in(spaceChunk+1, nil)
	}
	return l.in(spaceChunk, escape(r.Start, false)), l.in(spaceChunk, escape(r.End, false))
}

// escape makes keys that have no other one as their beginning, in the same order: a zero
// byte becomes 0 255, and the end is 0 1. Without the end it is a bound.
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
