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
		"[{a: 1},]":                                  `{"a":1} EOF`,
		"[{a: 1}]\n{b: 2}":                           `{"a":1} expected the end of the input behind the array, found "{b: 2}"`,
		"[{a: 1}],":                                  `{"a":1} expected the end of the input behind the array, found ","`,
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

// endless is a text that repeats without an end, after its beginning.
type endless struct{ begin, repeat string }

func (e *endless) Read(p []byte) (int, error) {
	if e.begin != "" {
		n := copy(p, e.begin)
		e.begin = e.begin[n:]
		return n, nil
	}
	n := 0
	for n+len(e.repeat) <= len(p) {
		n += copy(p[n:], e.repeat)
	}
	return n, nil
}

// TestTableLines checks that wrong quotes are errors with the number of their line, and that a line without an end is
// not read whole.
func TestTableLines(t *testing.T) {
	for _, c := range []struct {
		comma rune
		in    io.Reader
		want  string
	}{
		{',', strings.NewReader("a,b\n1,\"x \"\"y\"\" z\"\n2,\"c\nd\"\n"), `{"a":1,"b":"x \"y\" z"} {"a":2,"b":"c\nd"} EOF`},
		{',', strings.NewReader("a,b\n1,2\n\"x,3\n4,5\n6,7"), `{"a":1,"b":2} line 5: the quote that begins a cell in line 3 is not closed`},
		{',', strings.NewReader("a,b\n1,\"x\" y\n4,5\n"), `line 2: the quote that begins a cell in line 2 is not closed`},
		{',', strings.NewReader("a,b\n1,2\n3,x \"y\" z\n"), `{"a":1,"b":2} line 3: a quote in a cell that does not begin with one`},
		{',', &endless{"a,b\n1,2\n", strings.Repeat("x", 512)}, `{"a":1,"b":2} the line has more than 1 MB`},
		{',', &endless{"a,b\n1,2\n\"", strings.Repeat("1,2,3,4\n", 64)}, `{"a":1,"b":2} the line has more than 1 MB`},
		{'\t', &endless{"a\tb\n1\t2\n", strings.Repeat("x", 512)}, `{"a":1,"b":2} line 3: the line has more than 1 MB`},
		{'\t', strings.NewReader("a\tb\n1\t2\n\n3\t\"4"), `{"a":1,"b":2} {"a":3,"b":"\"4"} EOF`},
	} {
		r, err := NewTable(bufio.NewReader(c.in), c.comma, &Table{Header: true, lineMax: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			doc, err := r.Next()
			if err != nil {
				got = append(got, err.Error())
				break
			}
			got = append(got, ejson.String(doc))
		}
		if all := strings.Join(got, " "); !strings.HasPrefix(all, c.want) {
			t.Errorf("%s\nwant %s", all, c.want)
		}
	}
}

// TestLegacy checks that files of an older mongoexport are read: Extended JSON of version 1, and its shell form.
func TestLegacy(t *testing.T) {
	const text = `{ "_id" : ObjectId("6123456789abcdef01234567"), at : ISODate("2020-01-01T00:00:00Z"), n : NumberLong("5"), x : NaN }
{ "at" : { "$date" : 1577836800000 }, "then" : { "$date" : "2020-01-01T01:00:00.000+0100" }, "list" : [ { "$regex" : "^a", "$options" : "i" } ], "data" : { "$binary" : "AQ==", "$type" : "00" }, "no" : { "$undefined" : true } }`
	const want = `{"_id":{"$oid":"6123456789abcdef01234567"},"at":{"$date":{"$numberLong":"1577836800000"}},"n":{"$numberLong":"5"},"x":{"$numberDouble":"NaN"}}
{"at":{"$date":{"$numberLong":"1577836800000"}},"then":{"$date":{"$numberLong":"1577836800000"}},"list":[{"$regularExpression":{"pattern":"^a","options":"i"}}],"data":{"$binary":{"base64":"AQ==","subType":"00"}},"no":{"$undefined":true}}
`
	r, got := NewLegacyJSON(bufio.NewReader(strings.NewReader(text))), ""
	for {
		doc, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got += ejson.Canonical(doc) + "\n"
	}
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
