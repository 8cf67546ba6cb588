package changestream

import (
	"bytes"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
)

// TestTokenOrder checks that the hexadecimal texts of tokens sort like their events, and that compare agrees for the
// tokens of events.
func TestTokenOrder(t *testing.T) {
	at := storage.MakeTimestamp(100, 7)
	tokens := []Token{
		{Time: at - 1, Mark: true},
		{Time: at},
		{Time: at, Fragment: 1},
		{Time: at, Fragment: 2},
		{Time: at, Sub: 1, Invalidate: true},
		{Time: at, Ordinal: 1},
		{Time: at, Ordinal: 300},
		{Time: at, Ordinal: 70000, Sub: 255},
		{Time: at, Mark: true},
		{Time: at + 1},
		{Time: storage.MakeTimestamp(101, 0)},
	}
	for i, a := range tokens {
		for j, b := range tokens {
			x, _ := a.Document().Get("_data").Str()
			y, _ := b.Document().Get("_data").Str()
			if (x < y) != (i < j) {
				t.Errorf("%d %s and %d %s are out of order", i, x, j, y)
			}
			if !a.Mark && !b.Mark && (a.compare(b) < 0) != (i < j && a.compare(b) != 0) {
				t.Errorf("compare %+v %+v", a, b)
			}
		}
	}
}

func TestTokenRoundTrip(t *testing.T) {
	for _, tok := range []Token{
		{Time: 1, Mark: true},
		{Time: storage.MakeTimestamp(1700000000, 3), Ordinal: 1 << 31, Sub: 1, Fragment: 9, Invalidate: true},
		{Time: 5, Mark: true, Partition: true, Range: shard.Range{}},
		{Time: 5, Partition: true, Range: shard.Range{Lo: shard.Position{}, Hi: shard.HashPosition(1 << 63)}},
		{Time: 5, Partition: true, Range: shard.HashRange(1<<62, 1<<63)},
	} {
		got, err := ParseToken(tok.Document())
		if err != nil || !got.Same(tok) || got.Time != tok.Time || got.Partition != tok.Partition ||
			!bytes.Equal(got.Range.Lo, tok.Range.Lo) || !bytes.Equal(got.Range.Hi, tok.Range.Hi) || (got.Range.Hi == nil) != (tok.Range.Hi == nil) {
			t.Errorf("%+v became %+v, %v", tok, got, err)
		}
		enc := tok.encode(nil)
		for n := 1; n < len(enc)-1; n++ {
			if _, err := decodeToken(enc[:n]); mongoerr.CodeOf(err) != mongoerr.Overflow {
				t.Errorf("%d of %d bytes of %+v: %v", n, len(enc), tok, err)
			}
		}
		for _, same := range [][]byte{enc[:len(enc)-1], append(enc[:len(enc):len(enc)], 0xFF), append(enc[:len(enc):len(enc)], 0)} {
			if got, err := decodeToken(same); err != nil || !got.Same(tok) {
				t.Errorf("%x: %v", same, err)
			}
		}
	}
}

// TestFragments checks that the token of a part of a split event gives the event and the number of the part.
func TestFragments(t *testing.T) {
	event := Token{Time: 9, Ordinal: 2}
	part, err := FragmentToken(event.Document(), 3)
	if err != nil || FragmentOf(part) != 3 || FragmentOf(event.Document()) != 0 {
		t.Fatal(part, err)
	}
	back, _ := ParseToken(part)
	if back.compare(event) != 0 {
		t.Errorf("%+v is not a part of %+v", back, event)
	}
}

func TestSpec(t *testing.T) {
	good := Token{Time: 7, Ordinal: 1}.Document().String()
	end := Token{Time: 7, Sub: 1, Invalidate: true}.Document().String()
	for text, want := range map[string]mongoerr.Code{
		`{}`: 0,
		`{fullDocument: null, fullDocumentBeforeChange: null, resumeAfter: null, startAfter: null, startAtOperationTime: null}`: 0,
		`{fullDocument: "required", fullDocumentBeforeChange: "off", showExpandedEvents: true}`:                                 0,
		`{fullDocument: "off"}`:                                 mongoerr.BadValue,
		`{fullDocument: 1}`:                                     mongoerr.TypeMismatch,
		`{showExpandedEvents: null}`:                            mongoerr.TypeMismatch,
		`{allChangesForCluster: 1}`:                             mongoerr.TypeMismatch,
		`{bogus: 1}`:                                            mongoerr.IDLUnknownField,
		`{startAtOperationTime: 1}`:                             mongoerr.TypeMismatch,
		`{resumeAfter: "x"}`:                                    mongoerr.TypeMismatch,
		`{resumeAfter: []}`:                                     mongoerr.TypeMismatch,
		`{resumeAfter: {}}`:                                     40647,
		`{resumeAfter: {_data: 1}}`:                             40647,
		`{resumeAfter: {_data: BinData(0, "AQ==")}}`:            40647,
		`{resumeAfter: {_data: ""}}`:                            40649,
		`{resumeAfter: {_data: "00", _typeBits: 1}}`:            40648,
		`{resumeAfter: {_data: "xyz"}}`:                         mongoerr.FailedToParse,
		`{resumeAfter: {_data: "abc"}}`:                         mongoerr.FailedToParse,
		`{resumeAfter: {_data: "00"}}`:                          50811,
		`{resumeAfter: {_data: "82"}}`:                          mongoerr.Overflow,
		`{resumeAfter: ` + good + `}`:                           0,
		`{startAfter: ` + end + `}`:                             0,
		`{resumeAfter: ` + end + `}`:                            mongoerr.InvalidResumeToken,
		`{resumeAfter: ` + good + `, startAfter: ` + good + `}`: 50865,
		`{resumeAfter: ` + good + `, startAtOperationTime: {$timestamp: {t: 1, i: 1}}}`:       40674,
		`{resumeAfter: ` + good + `, startAfter: null, startAtOperationTime: null, x: {}}`:    mongoerr.IDLUnknownField,
		`{startAfter: ` + good + `, resumeAfter: null, fullDocumentBeforeChange: "required"}`: 0,
	} {
		d, err := ejson.Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		_, err = ParseSpec(bson.Raw(d), release.Default)
		got := mongoerr.Code(0)
		if err != nil {
			got = mongoerr.CodeOf(err)
		}
		if got != want {
			t.Errorf("%s: %v, want code %d", text, err, want)
		}
	}
}

// FuzzResumeToken: no bytes of a client make decodeToken panic, and a token that it accepts is the same after it is
// written and read again.
func FuzzResumeToken(f *testing.F) {
	f.Add(Token{Time: 1, Mark: true}.encode(nil))
	f.Add(Token{Time: 3, Ordinal: 4, Sub: 1, Fragment: 2, Invalidate: true}.encode(nil))
	f.Add(Token{Time: 3, Partition: true, Range: shard.HashRange(1, 2)}.encode(nil))
	f.Add([]byte{0x82, 0x64})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			return
		}
		tok, err := decodeToken(raw)
		if err != nil {
			return
		}
		again, err := ParseToken(tok.Document())
		if err != nil || !again.Same(tok) || !bytes.Equal(again.encode(nil), tok.encode(nil)) {
			t.Fatalf("%x: %+v became %+v, %v", raw, tok, again, err)
		}
	})
}
