package filescan

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Tags of the fields in a version edit (a record of the manifest) and, from customEnd on, of the custom fields of
// a table in it.
const (
	tagComparer  = 1
	tagMinLog    = 2
	tagNextFile  = 3
	tagLastSeq   = 4
	tagDeleted   = 6
	tagPrevLog   = 9
	tagTable     = 100
	tagTableMore = 103 // a table with custom fields

	customEnd     = 1
	customVirtual = 66
	customStrict  = 64 // a reader that does not understand a field with this bit must stop
)

// edit decodes a version edit, a record of the manifest that lists added and deleted tables. It panics if the
// record cannot be decoded.
type edit struct{ rest []byte }

func (e *edit) number() uint64 {
	v, n := binary.Uvarint(e.rest)
	if n <= 0 {
		panic(errUnreadable)
	}
	e.rest = e.rest[n:]
	return v
}

func (e *edit) bytes() []byte {
	n := e.number()
	b := e.rest[:n]
	e.rest = e.rest[n:]
	return b
}

// userKey decodes a key of the store, without the eight bytes of its version (sequence number and kind).
func (e *edit) userKey() []byte {
	b := e.bytes()
	return slices.Clone(b[:len(b)-8])
}

// apply applies a version edit to the manifest's list of tables. Errors: an error for a field that this program
// never writes.
func (m *manifest) apply(rec []byte) error {
	for e := (&edit{rec}); len(e.rest) > 0; {
		switch tag := e.number(); tag {
		case tagComparer:
			e.bytes()
		case tagMinLog:
			m.minLog = e.number()
		case tagLastSeq:
			m.lastSeq = e.number()
		case tagNextFile, tagPrevLog:
			e.number()
		case tagDeleted:
			level := int(e.number())
			delete(m.tables, tableAt{level, e.number()})
		case tagTable, tagTableMore:
			level := int(e.number())
			number := e.number()
			m.tables[tableAt{level, number}] = e.table(level, number, tag == tagTableMore)
		default:
			return fmt.Errorf("field %d", tag)
		}
	}
	return nil
}

// table decodes the entry of a new table in a version edit; more means that custom fields follow.
func (e *edit) table(level int, number uint64, more bool) *table {
	t := &table{number: number, level: level, entries: -1}
	t.size = int64(e.number())
	t.smallest, t.largest = e.userKey(), e.userKey()
	e.number() // the smallest sequence number
	t.maxSeq = e.number()
	for more {
		switch tag := e.number(); {
		case tag == customEnd:
			more = false
		case tag == customVirtual:
			t.number, t.size = e.number(), -1
		case tag&customStrict != 0:
			panic(errUnreadable)
		default:
			e.bytes()
		}
	}
	t.name = fmt.Sprintf("%06d%s", t.number, tableSuffix)
	return t
}
