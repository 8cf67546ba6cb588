package changestream

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
)

// Token is a place in the stream of events. Clients get it as
// {_data: "82…"}, upper-case hexadecimal digits that sort like the events:
//
//	0x82 ‖ time(8) ‖ 0x20 ‖ ordinal(4) ‖ sub(1) ‖ fragment(2) ‖ flags(1) [‖ lo ‖ hi] ‖ 0x04   an event
//	0x82 ‖ time(8) ‖ 0xF0 ‖ flags(1) [‖ lo ‖ hi] ‖ 0x04                                      a mark
//
// lo and hi are each length(2) and bytes; without flagEnd there is no hi.
//
// The first byte and the seconds after it are at the same place as in MongoDB's tokens. A missing
// last byte and bytes after it are ignored, as by MongoDB.
type Token struct {
	Time storage.Timestamp // of the commit
	// Mark means no event: all of the commit at Time, and everything before, has been delivered.
	Mark bool
	// Ordinal is the place of the record within its commit, Sub that of the event among those of
	// the record.
	Ordinal uint32
	Sub     uint8
	// Fragment is the place of a part of a split event, from 1; 0 = not split.
	Fragment uint16
	// Invalidate marks the event that ends a stream.
	Invalidate bool
	// Partition restricts the stream to the positions of Range.
	Partition bool
	Range     shard.Range
	// Binary writes the document with bytes, as in tokens of Azure Cosmos DB, instead of digits.
	Binary bool
}

// Bytes and flags of the encoding.
const (
	tokenFirst = 0x82
	tokenLast  = 0x04
	kindEvent  = 0x20
	kindMark   = 0xF0

	flagInvalidate = 1
	flagPartition  = 2
	flagEnd        = 4
)

// encode appends the bytes of the token.
func (t Token) encode(dst []byte) []byte {
	dst = append(dst, tokenFirst)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Time))
	flags := byte(0)
	if t.Invalidate {
		flags |= flagInvalidate
	}
	if t.Partition {
		flags |= flagPartition
		if t.Range.Hi != nil {
			flags |= flagEnd
		}
	}
	if t.Mark {
		dst = append(dst, kindMark)
	} else {
		dst = append(dst, kindEvent)
		dst = binary.BigEndian.AppendUint32(dst, t.Ordinal)
		dst = append(dst, t.Sub)
		dst = binary.BigEndian.AppendUint16(dst, t.Fragment)
	}
	dst = append(dst, flags)
	if t.Partition {
		dst = appendPosition(dst, t.Range.Lo)
		if t.Range.Hi != nil {
			dst = appendPosition(dst, t.Range.Hi)
		}
	}
	return append(dst, tokenLast)
}

func appendPosition(dst []byte, p shard.Position) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(p))), p...)
}

// Append appends the token as a document under name.
func (t Token) Append(b *bson.Builder, name string) {
	var raw, digits [64]byte
	enc := t.encode(raw[:0])
	b.BeginDoc(name)
	if t.Binary {
		b.Binary("_data", 0, enc)
		b.Int32("_kind", 1)
		b.End()
		return
	}
	b.StringBytes("_data", appendHex(digits[:0], enc))
	b.End()
}

// appendHex appends upper-case digits.
func appendHex(dst, src []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range src {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// Document returns the token in the form for clients.
func (t Token) Document() bson.Raw {
	b := bson.NewBuilder(nil)
	t.Append(b, "t")
	d, _ := b.Doc().Get("t").Doc()
	return d
}

// ParseToken parses a token that a client gives back.
// Errors: Location40647, Location40648, Location40649, FailedToParse (9),
// Location50811, Overflow (15).
func ParseToken(d bson.Raw) (t Token, err error) {
	data := d.Get("_data")
	if _, raw, ok := data.Binary(); ok && len(raw) > 0 && raw[0] == tokenFirst {
		t, err = decodeToken(raw)
		t.Binary = true
		return t, err
	}
	if data.Type != bson.TypeString {
		return t, mongoerr.New(40647, "Bad resume token: _data of missing or of wrong type %s", d)
	}
	if bits := d.Get("_typeBits"); !bits.IsMissing() && bits.Type != bson.TypeBinary {
		return t, mongoerr.New(40648, "Bad resume token: _typeBits of wrong type %s", d)
	}
	s, _ := data.Str()
	if s == "" {
		return t, mongoerr.New(40649, "Bad resume token: _data is empty")
	}
	raw, err := hex.DecodeString(s)
	if err != nil {
		return t, mongoerr.New(mongoerr.FailedToParse, "resume token string was not a valid hex string")
	}
	return decodeToken(raw)
}

// decodeToken is the inverse of encode.
func decodeToken(raw []byte) (t Token, err error) {
	if raw[0] != tokenFirst {
		return t, mongoerr.New(50811, "Bad resume token: unknown type %d", raw[0])
	}
	ok := true
	take := func(n int) uint64 {
		if len(raw) < n {
			ok, raw = false, nil
			return 0
		}
		v := uint64(0)
		for _, c := range raw[:n] {
			v = v<<8 | uint64(c)
		}
		raw = raw[n:]
		return v
	}
	take(1)
	t.Time = storage.Timestamp(take(8))
	switch take(1) {
	case kindMark:
		t.Mark = true
	case kindEvent:
		t.Ordinal = uint32(take(4))
		t.Sub = uint8(take(1))
		t.Fragment = uint16(take(2))
	default:
		if ok {
			return Token{}, mongoerr.New(50811, "Bad resume token: unknown kind")
		}
	}
	flags := take(1)
	t.Invalidate = flags&flagInvalidate != 0
	if t.Partition = flags&flagPartition != 0; t.Partition {
		position := func() shard.Position {
			n := int(take(2))
			if len(raw) < n {
				ok, raw = false, nil
				return nil
			}
			p := shard.Position(raw[:n:n])
			raw = raw[n:]
			return p
		}
		t.Range.Lo = position()
		if flags&flagEnd != 0 {
			t.Range.Hi = position()
		}
	}
	if !ok {
		return Token{}, mongoerr.New(mongoerr.Overflow, "Bad resume token: it is cut short")
	}
	return t, nil
}

// Same reports whether tokens name the same event, or the same time.
func (t Token) Same(u Token) bool {
	return t.compare(u) == 0 && t.Mark == u.Mark && t.Fragment == u.Fragment && t.Invalidate == u.Invalidate
}

// compare orders tokens of events, fragments aside: negative if t comes first.
func (t Token) compare(u Token) int {
	switch {
	case t.Time != u.Time:
		return less(t.Time < u.Time)
	case t.Ordinal != u.Ordinal:
		return less(t.Ordinal < u.Ordinal)
	case t.Sub != u.Sub:
		return less(t.Sub < u.Sub)
	}
	return 0
}

func less(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// FragmentToken returns the token document of the nth part of a split event (from 1), given that of the event.
// Errors: errors of ParseToken.
func FragmentToken(event bson.Raw, n int) (bson.Raw, error) {
	t, err := ParseToken(event)
	if err != nil {
		return nil, err
	}
	t.Fragment = uint16(n)
	return t.Document(), nil
}

// FragmentOf returns the number of the part in an event's token, 0 for a whole event. An event with
// such a number is delivered again because a stream was resumed after that part, and the parts up
// to it are to be skipped.
func FragmentOf(event bson.Raw) int {
	t, err := ParseToken(event)
	if err != nil {
		return 0
	}
	return int(t.Fragment)
}
