// Package bsontest makes BSON for tests out of Extended JSON, as bson/ejson reads it.
package bsontest

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// Doc parses one document from Extended JSON. If the text is not one, the test fails.
func Doc(tb testing.TB, text string) bson.Raw {
	tb.Helper()
	d, err := ejson.Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return d
}

// Value parses one value of any type from Extended JSON. If the text is not one, the test fails.
func Value(tb testing.TB, text string) bson.Value {
	tb.Helper()
	v, err := ejson.ParseValue(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

// MustDoc parses one document from Extended JSON for a variable of a test package, outside of any test. It panics if
// the text is not one.
func MustDoc(text string) bson.Raw {
	d, err := ejson.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

// Must fails the test if there is an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
