package changelog

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
)

// TestUndoLeadsBack changes documents at random places, lengths included.
func TestUndoLeadsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	document := func(values []byte) bson.Raw {
		b := bson.NewBuilder(nil)
		for i, v := range values {
			b.Binary(string(rune('a'+i%26)), 0, bytes.Repeat([]byte{v}, int(v)%40))
		}
		return b.Doc()
	}
	for range 5000 {
		values := make([]byte, rng.IntN(12))
		for i := range values {
			values[i] = byte(rng.IntN(4) * 9)
		}
		old := document(values)
		for range rng.IntN(4) {
			if len(values) == 0 || rng.IntN(4) == 0 {
				values = append(values, byte(rng.IntN(256)))
			} else if i := rng.IntN(len(values)); rng.IntN(3) == 0 {
				values = append(values[:i], values[i+1:]...)
			} else {
				values[i] = byte(rng.IntN(256))
			}
		}
		doc := document(values)
		r := Record{Op: Update, Undo: AppendUndo(nil, old, doc)}
		if got, err := r.Before(nil, doc); err != nil || !bytes.Equal(got, old) {
			t.Fatalf("%v before %v became %v, %v", old, doc, bson.Raw(got), err)
		}
		r.Undo = AppendUndo(nil, old, nil)
		if got, err := r.Before([]byte("kept"), nil); err != nil || string(got) != "kept"+string(old) {
			t.Fatalf("%v before a delete became %v, %v", old, got, err)
		}
	}
}

func TestUndoOfOneFieldIsSmall(t *testing.T) {
	document := func(n int32) bson.Raw {
		b := bson.NewBuilder(nil)
		b.Binary("before", 0, make([]byte, 500))
		b.Int32("n", n)
		b.Binary("after", 0, make([]byte, 500))
		return b.Doc()
	}
	if n := len(AppendUndo(nil, document(1), document(2))); n > 5 {
		t.Errorf("%d bytes", n)
	}
}

func TestUndoRefusesAnotherDocument(t *testing.T) {
	b := bson.NewBuilder(nil)
	b.String("a", "some words")
	doc := b.Doc()
	r := Record{Undo: AppendUndo(nil, doc, doc)}
	if _, err := r.Before(nil, bson.Raw{5, 0, 0, 0, 0}); err == nil {
		t.Error("a shorter document was taken")
	}
	if _, err := r.Before(nil, nil); err == nil {
		t.Error("no document was taken")
	}
	if _, err := (&Record{Op: Insert}).Before(nil, doc); err == nil {
		t.Error("an insert has a document before it")
	}
}

func BenchmarkUndo(b *testing.B) {
	document := func(n int32) bson.Raw {
		w := bson.NewBuilder(nil)
		w.Binary("before", 0, make([]byte, 500))
		w.Int32("n", n)
		w.Binary("after", 0, make([]byte, 500))
		return w.Doc()
	}
	old, doc := document(1), document(2)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendUndo(dst[:0], old, doc)
	}
}
