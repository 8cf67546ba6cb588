// Package giant makes the values in case files as large, as small or as many as clients can make them. Tests find by
// it operations that never end, or whose time grows faster than their input.
package giant

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
)

// Variants is the number of ways to make a value extreme.
const Variants = 8

// elements and characters are the lengths of extreme arrays and strings. They are so large that a loop over all pairs
// of elements would take a minute, which Watch detects.
const (
	elements   = 40_000
	characters = 400_000
)

// Value returns an extreme value in place of v; variant chooses among several. A number becomes an extreme one of any
// type, a date an extreme date, a string or array long, a document wide or deep. Strings that begin with a dollar
// sign, and values of other types, stay as they are.
func Value(v bson.Value, variant int) bson.Value {
	var a bson.Arena
	switch v.Type {
	case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128:
		return number(&a, variant)
	case bson.TypeDateTime:
		return a.DateTime([...]int64{math.MaxInt64, math.MinInt64, 0, -1}[variant%4])
	case bson.TypeString:
		text, _ := v.Str()
		if strings.HasPrefix(text, "$") {
			return v
		}
		return a.String(long(text, variant))
	case bson.TypeArray:
		return repeated(v, variant)
	case bson.TypeDocument:
		return wide(v, variant)
	}
	return v
}

// Inside replaces the values inside a document or array by extreme ones; the shapes of the document and its arrays
// stay.
func Inside(v bson.Value, variant int) bson.Value {
	switch v.Type {
	case bson.TypeDocument:
		b := bson.NewBuilder(nil)
		for name, e := range bson.Raw(v.Data).Fields() {
			b.ValueBytes(name, Inside(e, variant))
		}
		return b.Doc().Value()
	case bson.TypeArray:
		b := bson.NewArrayBuilder(nil)
		for e := range bson.Raw(v.Data).Values() {
			b.Value("", Inside(e, variant))
		}
		return bson.Value{Type: bson.TypeArray, Data: b.Finish()}
	}
	return Value(v, variant)
}

// Fields replaces each field's value in a document by an extreme one, in another variant than the field before.
func Fields(d bson.Raw, variant int) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range d.Fields() {
		b.ValueBytes(name, Value(v, variant))
		variant += 3
	}
	return b.Doc()
}

// number returns an extreme number.
func number(a *bson.Arena, variant int) bson.Value {
	switch variant % Variants {
	case 0:
		return a.Double(5e-324)
	case 1:
		return a.Double(math.MaxFloat64)
	case 2:
		return a.Double(math.Inf(1))
	case 3:
		return a.Int64(math.MaxInt64)
	case 4:
		return a.Int64(math.MinInt64)
	case 5:
		d, _ := decimal.Parse("9.999999999999999999999999999999999E6144")
		return a.Decimal(d)
	case 6:
		d, _ := decimal.Parse("1E-6176")
		return a.Decimal(d)
	}
	return a.Int32(math.MaxInt32)
}

// long returns a long text made of a short one: repetitions of the text, repetitions of its first character with
// another one at the end, or repetitions of another character.
func long(text string, variant int) string {
	if text == "" {
		text = "a"
	}
	switch variant % 4 {
	case 0:
		return strings.Repeat(text[:1], characters) + "b"
	case 1:
		return strings.Repeat("b", characters)
	case 2:
		return strings.Repeat("é", characters/2)
	}
	return strings.Repeat(text, characters/len(text)+1)
}

// repeated returns a long array made of a short one: it repeats the first two elements; if variant is even, numbers
// count up, and strings get lengths from 0 to 49. From an empty array it makes numbers that count up.
func repeated(v bson.Value, variant int) bson.Value {
	var a bson.Arena
	old := bson.Raw(v.Data)
	b := bson.NewArrayBuilder(nil)
	for i := range elements {
		e, ok := bson.Value{}, false
		if n := old.Len(); n > 0 {
			e, ok = old.Index(i % min(n, 2))
		}
		switch {
		case !ok || e.IsNumber() && variant%2 == 0:
			e = a.Int32(int32(i))
		case e.Type == bson.TypeString && variant%2 == 0:
			e = a.String(strings.Repeat("s", i%50))
		}
		b.Value("", e)
	}
	return bson.Value{Type: bson.TypeArray, Data: b.Finish()}
}

// wide returns a document made extreme: with many more fields, or nested deeply.
func wide(v bson.Value, variant int) bson.Value {
	b := bson.NewBuilder(nil)
	b.Splice(bson.Raw(v.Data).Elements())
	if variant%2 == 0 {
		for range 90 {
			b.BeginDoc("n")
		}
		for range 90 {
			b.End()
		}
		return b.Doc().Value()
	}
	name := []byte("f00000")
	for i := range elements / 2 {
		for at := 5; at > 0; at-- {
			name[at], i = byte('0'+i%10), i/10
		}
		b.ValueBytes(name, bson.Null)
	}
	return b.Doc().Value()
}

// Watch runs f with a context that ends after 50 ms, and fails the test if f has not returned within a minute. The
// minute is not a limit under test: it distinguishes, on any machine, functions that check their context from those
// that do not.
func Watch(t *testing.T, what string, f func(ctx context.Context)) {
	t.Helper()
	if !ends(t.Context(), time.Minute, f) {
		stacks := make([]byte, 1<<20)
		t.Fatalf("does not end: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
}

// ends runs f with a context that ends after 50 ms, and reports whether f returns within patience.
func ends(ctx context.Context, patience time.Duration, f func(ctx context.Context)) bool {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	select {
	case <-done:
		return true
	case <-time.After(patience):
		return false
	}
}
