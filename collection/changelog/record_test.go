package changelog

import (
	"bytes"
	"testing"
)

func TestRecordRoundTrip(t *testing.T) {
	for _, r := range []Record{
		{Op: Insert, Collection: 7, Position: 1 << 63, ID: []byte{1, 2}, Bytes: 5, Doc: []byte{5, 0, 0, 0, 0}},
		{Op: Update, Collection: 1, ID: []byte{9}, Bytes: -3, Key: []byte("key"), Doc: []byte("doc"), Delta: []byte("delta"), Pre: []byte("pre"), Session: [16]byte{1}, TxnNumber: -4, Multi: true, Owner: [32]byte{7}, Wall: 1790000000123},
		{Op: Update, Collection: 3, ID: []byte{4}, Undo: []byte{1, 2, 3}, Session: [16]byte{1}, StmtID: 300, Owner: [32]byte{5}},
		{Op: Insert, Collection: 3, ID: []byte{4}, Session: [16]byte{1}, Wall: 7, StmtID: 1, Owner: noOwner},
		{Op: Update, Collection: 2, ID: []byte{1}, Wall: 5},
		{Op: Delete, ID: []byte{}},
	} {
		enc := r.Append(nil)
		got, err := Decode(enc)
		if err != nil || got.Op != r.Op || got.Collection != r.Collection || got.Position != r.Position || got.Bytes != r.Bytes ||
			!bytes.Equal(got.ID, r.ID) || !bytes.Equal(got.Key, r.Key) || !bytes.Equal(got.Doc, r.Doc) || !bytes.Equal(got.Delta, r.Delta) ||
			!bytes.Equal(got.Pre, r.Pre) || !bytes.Equal(got.Undo, r.Undo) || got.Session != r.Session || got.TxnNumber != r.TxnNumber ||
			got.Multi != r.Multi || got.StmtID != r.StmtID || got.Owner != r.Owner || got.Wall != r.Wall {
			t.Errorf("%+v became %+v, %v", r, got, err)
		}
		if c, ok := Owner(enc); !ok || c != r.Collection {
			t.Error("owner")
		}
		if r.StmtID != 0 {
			continue // bytes that may be missing at the end determine the version and the owner
		}
		for n := range enc {
			if _, err := Decode(enc[:n]); err == nil {
				t.Errorf("%d of %d bytes decoded", n, len(enc))
			}
		}
	}
}
