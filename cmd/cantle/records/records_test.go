package records

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/ejson"
)

// TestColumnsInside checks that a column inside of another one is refused in both orders: the document would have the
// field twice.
func TestColumnsInside(t *testing.T) {
	for _, names := range [][]string{{"a", "a.b"}, {"a.b", "a"}, {"a.b.c", "a.b"}, {"a.b.c", "a"}, {"a", "a"}, {""}} {
		if err := new(Table).ColumnsOf(names); err == nil {
			t.Errorf("the columns %q are taken", names)
		}
	}
	for _, names := range [][]string{{"a.b", "a.c", "ab"}, {"a.b.c", "a.bc", "b"}} {
		if err := new(Table).ColumnsOf(names); err != nil {
			t.Errorf("the columns %q: %v", names, err)
		}
	}
}

// TestJSON checks how documents are found in a text: one after the other or in an array, in Extended JSON or in mongosh
// syntax, with braces and quotes in strings and regular expressions; and the errors of other texts.
func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "EOF",
		" \n":                          "EOF",
		"[]":                           "EOF",
		"\xef\xbb\xbf{\"a\": 1}":       `{"a":1} EOF`,
		"{a: 1}":                       `{"a":1} EOF`,
		"{a: 1}{b: 2}\n\n{c: [{}, 3]}": `{"a":1} {"b":2} {"c":[{},3]} EOF`,
		"[{a: '}'}, {b: \"\\\"}\"} ]":  `{"a":"}"} {"b":"\"}"} EOF`,
		`{a: /[}"]\/{/i, b: 1}`:        `{"a":{"$regularExpression":{"pattern":"[}\"]\\/{","options":"i"}},"b":1} EOF`,
		`{id: ObjectId("6123456789abcdef01234567")}`: `{"id":{"$oid":"6123456789abcdef01234567"}} EOF`,
		`{"$date": {"a": 1}`:                         "the document does not end",
		`{"a": "x}`:                                  `a text of the document does not end (")`,
		"[{a: 1}":                                    `{"a":1} the array does not end`,
		"[{a: 1},":                                   `{"a":1} the array does not end`,
		"[{a: 1} {b: 1}]":                            `{"a":1} expected a comma or the end of the array, found "{b: 1}]"`,
		"sku,stock\n1,2":                             `expected a document in JSON, found "sku,stock"; --type csv and tsv read tables`,
		"{a: 1}, {b: 2}":                             `{"a":1} expected a document in JSON, found ", {b: 2}"; --type csv and tsv read tables`,
		`{"a": 1]`:                                   `column 8 of "{\"a\": 1]": `,
	} {
		r := NewJSON(bufio.NewReader(strings.NewReader(text)))
		var got []string
		for {
			doc, err := r.Next()
			if errors.Is(err, io.EOF) {
				got = append(got, "EOF")
				break
			}
			if err != nil {
				got = append(got, err.Error())
				break
			}
			got = append(got, ejson.String(doc))
		}
		if all := strings.Join(got, " "); all != want && !(strings.HasPrefix(want, "column") && strings.HasPrefix(all, want)) {
			t.Errorf("%q:\n%s\nwant\n%s", text, all, want)
		}
	}
}
