package records

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// textMax is the maximum length of the text of one document, in bytes. A document of 16 MB is shorter as text, except
// for a few with long numbers.
const textMax = 64 << 20

// jsonRecords is a Reader of documents in Extended JSON or in mongosh syntax that follow each other or stand in one
// array.
type jsonRecords struct {
	in     *bufio.Reader
	legacy bool // {$regex, $options} is a regular expression
	begun  bool
	array  bool
	seen   bool // a document of the array was read
	text   []byte
}

// NewJSON reads documents in Extended JSON or in mongosh syntax.
func NewJSON(in *bufio.Reader) Reader { return &jsonRecords{in: in} }

// NewLegacyJSON is NewJSON for files of an older mongoexport, in which {$regex, $options} is a regular expression. Both
// read the other forms of Extended JSON version 1.
func NewLegacyJSON(in *bufio.Reader) Reader { return &jsonRecords{in: in, legacy: true} }

// Next see Reader.
func (r *jsonRecords) Next() (bson.Raw, error) {
	c, err := r.skip()
	if err == nil && !r.begun {
		r.begun = true
		if r.array = c == '['; r.array {
			c, err = r.skip()
		}
	}
	if r.array && err == io.EOF {
		return nil, errors.New("the array does not end")
	}
	if err != nil {
		return nil, err
	}
	if r.array && r.seen && c != ']' {
		if c != ',' {
			return nil, fmt.Errorf("expected a comma or the end of the array, found %q", r.found(c))
		}
		if c, err = r.skip(); err != nil { // the comma may be the last one
			return nil, errors.New("the array does not end")
		}
	}
	if r.array && c == ']' {
		if c, err = r.skip(); err == nil {
			return nil, fmt.Errorf("expected the end of the input behind the array, found %q", r.found(c))
		}
		return nil, err
	}
	if c != '{' {
		return nil, fmt.Errorf("expected a document in JSON, found %q; --type csv and tsv read tables", r.found(c))
	}
	r.seen = true
	if err := r.document(); err != nil {
		return nil, err
	}
	doc, err := ejson.Parse(string(r.text))
	if err != nil || !r.legacy || !bytes.Contains(doc, []byte("$regex")) {
		return doc, err
	}
	b := bson.NewBuilder(nil)
	withRegexes(b, doc)
	return b.Doc(), nil
}

// withRegexes appends the fields of a document or an array, with regular expressions in place of {$regex, $options}.
func withRegexes(b *bson.Builder, doc bson.Raw) {
	for name, v := range doc.Fields() {
		inner, isDoc := v.Doc()
		list, isArray := v.Array()
		pattern, first := inner.Get("$regex").Str()
		options, second := inner.Get("$options").Str()
		switch {
		case isDoc && first && second && inner.Len() == 2 && !strings.Contains(pattern+options, "\x00"):
			b.ValueBytes(name, bson.Value{Type: bson.TypeRegex, Data: []byte(pattern + "\x00" + options + "\x00")})
		case isDoc:
			b.BeginDoc(string(name))
			withRegexes(b, inner)
			b.End()
		case isArray:
			b.BeginArray(string(name))
			withRegexes(b, list)
			b.End()
		default:
			b.ValueBytes(name, v)
		}
	}
}

// skip returns the first byte that is neither white space nor part of a byte order mark.
func (r *jsonRecords) skip() (byte, error) {
	for {
		c, err := r.in.ReadByte()
		if err != nil || bytes.IndexByte([]byte(" \t\r\n\xef\xbb\xbf"), c) < 0 {
			return c, err
		}
	}
}

// found returns the beginning of the line behind c, for an error.
func (r *jsonRecords) found(c byte) string {
	rest, _ := r.in.Peek(20)
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(c) + string(line)
}

// document reads the text of a document into r.text, behind its first brace: up to the brace that closes it. Braces in
// strings and regular expressions do not count.
func (r *jsonRecords) document() error {
	r.text = append(r.text[:0], '{')
	depth, before := 1, byte('{') // the last byte that is not white space
	for depth > 0 {
		c, err := r.in.ReadByte()
		if err == io.EOF {
			return errors.New("the document does not end")
		}
		if err != nil {
			return err
		}
		r.text = append(r.text, c)
		if len(r.text) > textMax {
			return fmt.Errorf("the document does not end within %d MB", textMax>>20)
		}
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			continue
		case c == '"' || c == '\'' || c == '/' && (before == ':' || before == '[' || before == ',' || before == '('):
			if err := r.until(c); err != nil {
				return err
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		before = c
	}
	return nil
}

// until reads the rest of a string or regular expression, up to the byte that ends it.
func (r *jsonRecords) until(end byte) error {
	for escaped := false; ; {
		c, err := r.in.ReadByte()
		if err == io.EOF {
			return fmt.Errorf("a text of the document does not end (%c)", end)
		}
		if err != nil {
			return err
		}
		r.text = append(r.text, c)
		if len(r.text) > textMax {
			return fmt.Errorf("a text of the document does not end within %d MB", textMax>>20)
		}
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == end:
			return nil
		}
	}
}
