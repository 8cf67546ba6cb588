package index

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile/giant"
)

// TestKeysOfLargestDocuments makes the index entries of documents of nearly 16 MB for every kind of index. The time
// must grow only linearly with the size: quadratic time would take hours.
func TestKeysOfLargestDocuments(t *testing.T) {
	large := func(element func(b *bson.Builder, i int)) bson.Raw {
		b := bson.NewBuilder(nil)
		b.BeginArray("a")
		for i := 0; b.Len() < 15<<20; i++ {
			element(b, i)
		}
		b.End()
		b.BeginArray("b")
		b.Int32("", 1)
		b.Int32("", 2)
		b.End()
		return b.Doc()
	}
	numbers := large(func(b *bson.Builder, i int) { b.Int32("", int32(i)) })
	docs := large(func(b *bson.Builder, i int) {
		b.BeginDoc("")
		b.Int32("b", int32(i))
		b.Int32("c", int32(-i))
		b.End()
	})
	words := large(func(b *bson.Builder, i int) { b.String("", fmt.Sprintf("word%d and%d", i%5000, i%300)) })
	places := large(func(b *bson.Builder, i int) {
		b.BeginDoc("")
		b.BeginDoc("p")
		b.String("type", "Point")
		b.BeginArray("coordinates")
		b.Double("", float64(i%360-180))
		b.Double("", float64(i%180-90))
		b.End()
		b.End()
		b.End()
	})
	flat := large(func(b *bson.Builder, i int) {
		b.BeginArray("")
		b.Double("", float64(i%360-180))
		b.Double("", float64(i%180-90))
		b.End()
	})
	text := func() bson.Raw {
		b := bson.NewBuilder(nil)
		b.String("a", strings.Repeat("0123456789abcdef", 15<<16))
		return b.Doc()
	}()
	of := map[string]map[string]bson.Raw{
		"":         {`{a: 1}`: numbers, `{a: 1, b: 1}`: numbers, `{"a.0": 1}`: numbers, `{"a.b": 1, "a.c": -1}`: docs, `{"a.b": 1, "a.0.c": 1}`: docs},
		"hashed":   {`{a: "hashed"}`: text, `{b: 1, a: "hashed"}`: text},
		"text":     {`{a: "text"}`: words, `{"$**": "text"}`: words},
		"2dsphere": {`{"a.p": "2dsphere"}`: places},
		"2d":       {`{a: "2d"}`: flat},
		"wildcard": {`{"$**": 1}`: docs, `{"a.$**": 1}`: numbers},
	}
	for i := range Kinds {
		if of[Kinds[i].Name] == nil {
			t.Errorf("no document for indexes of the kind %q", Kinds[i].Name)
		}
		for key, doc := range of[Kinds[i].Name] {
			d := bsontest.Doc(t, `{name: "x", key: `+key+`}`)
			giant.Watch(t, key, func(context.Context) {
				env := mql.NewEnv(t.Context())
				spec, err := ParseSpec(env, d)
				if err != nil {
					t.Error(key, err)
					return
				}
				begun, n := time.Now(), 0
				_, err = spec.Keys(env, doc, new(expr.Scratch), func(_, _ []byte) error { n++; return nil })
				t.Logf("%s of %d bytes: %d entries in %v: %.100v", key, len(doc), n, time.Since(begun).Round(time.Millisecond), err)
			})
		}
	}
}

// TestKeysThatRepeatMuch requires an error for documents whose entries would be too large together, because the
// entry of each array element repeats a large value outside of the array, or a long name above it.
func TestKeysThatRepeatMuch(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	b := bson.NewBuilder(nil)
	b.String("s", long)
	b.BeginDoc("d")
	b.BeginDoc(long)
	b.BeginArray("a")
	for i := range 200_000 {
		b.Int32("", int32(i))
	}
	b.End()
	b.End()
	b.End()
	b.BeginArray("a")
	for i := range 200_000 {
		b.Int32("", int32(i))
	}
	b.End()
	doc := b.Doc()
	for key, want := range map[string]mongoerr.Code{`{a: 1}`: 0, `{s: 1}`: 0, `{a: 1, s: 1}`: mongoerr.CannotBuildIndexKeys, `{s: -1, a: 1}`: mongoerr.CannotBuildIndexKeys, `{"$**": 1}`: mongoerr.CannotBuildIndexKeys} {
		d := bsontest.Doc(t, `{name: "x", key: `+key+`}`)
		env := mql.NewEnv(t.Context())
		spec, err := ParseSpec(env, d)
		if err != nil {
			t.Fatal(err)
		}
		_, err = spec.Keys(env, doc, new(expr.Scratch), func(_, _ []byte) error { return nil })
		var e *mongoerr.Error
		if errors.As(err, &e); (err == nil) != (want == 0) || err != nil && e.Code != want {
			t.Errorf("%s: %.300v", key, err)
		}
	}
}
