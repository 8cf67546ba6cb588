package expr

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// toObject converts a string with a JSON object to a document; a document stays as it is.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func toObject(env *mql.Env, s *Scratch, v bson.Value) (bson.Value, error) {
	switch v.Type {
	case bson.TypeDocument:
		return v, nil
	case bson.TypeString:
		return parseJSON(env, s, v, bson.TypeDocument)
	}
	return v, unsupported(v, bson.TypeDocument)
}

// toArray converts a string with a JSON array, or a binary vector, to an array; an array stays as it is.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func toArray(env *mql.Env, s *Scratch, v bson.Value) (bson.Value, error) {
	switch v.Type {
	case bson.TypeArray:
		return v, nil
	case bson.TypeString:
		return parseJSON(env, s, v, bson.TypeArray)
	case bson.TypeBinary:
		return vectorElements(env, s, v)
	}
	return v, unsupported(v, bson.TypeArray)
}

// jsonReader makes BSON from JSON text. It does not interpret {$oid: …} and the like.
type jsonReader struct {
	env *mql.Env
	s   *Scratch
	in  *json.Decoder
	out *making
}

// parseJSON parses the string v as JSON. The text must be an object if t is the type of documents, otherwise an
// array.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func parseJSON(env *mql.Env, s *Scratch, v bson.Value, t bson.Type) (bson.Value, error) {
	text, _ := v.Text()
	body := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case !utf8.Valid(text) || !json.Valid(text):
		return v, failed("Input doesn't represent valid JSON: %s", show(v))
	case body[0] != '{' && body[0] != '[':
		return v, failed("Input doesn't represent valid JSON: Unexpected standalone value")
	case (body[0] == '{') != (t == bson.TypeDocument):
		return v, failed("Input doesn't match expected type '%s'", t)
	}
	r := jsonReader{env: env, s: s, in: json.NewDecoder(bytes.NewReader(text)), out: s.newArray()}
	r.in.UseNumber()
	if err := r.value("", 0); err != nil {
		s.drop(r.out)
		return v, err
	}
	return s.endOnly(env, r.out)
}

// value reads the next JSON value and appends it under name. depth is the number of values around it.
func (r *jsonReader) value(name string, depth int) error {
	if err := r.env.Tick(); err != nil {
		return err
	}
	token, err := r.in.Token()
	if err != nil {
		return failed("Input doesn't represent valid JSON: %v", err)
	}
	text, _ := token.(string)
	if err := r.s.room(r.env, r.out, len(name)+len(text)+headBytes); err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		switch {
		case depth == bson.MaxDepth:
			return failed("Input exceeds the limit of %d levels of nesting", bson.MaxDepth)
		case token == '[':
			return r.elements(name, depth)
		}
		return r.fields(name, depth)
	case json.Number:
		return r.number(name, token.String())
	case string:
		r.out.String(name, token)
	case bool:
		r.out.Bool(name, token)
	case nil:
		r.out.Null(name)
	}
	return nil
}

// elements reads the rest of an array after its opening bracket.
func (r *jsonReader) elements(name string, depth int) error {
	r.out.BeginArray(name)
	for r.in.More() {
		if err := r.value("", depth+1); err != nil {
			return err
		}
	}
	r.out.End()
	_, err := r.in.Token()
	return err
}

// fields reads the rest of a JSON object after its opening brace. If a name is repeated, the last value wins,
// in the place of the first.
func (r *jsonReader) fields(name string, depth int) error {
	begin := r.out.Mark()
	r.out.BeginDoc(name)
	body := r.out.Len() - 4 // start of the document with its length
	seen, twice, look := map[string]bool{}, false, 0
	defer func() { r.s.outside -= look }()
	for r.in.More() {
		token, err := r.in.Token()
		if err != nil {
			return failed("Input doesn't represent valid JSON: %v", err)
		}
		field, _ := token.(string)
		if strings.IndexByte(field, 0) >= 0 {
			return failed("Input doesn't represent valid JSON: Illegal embedded null byte")
		}
		more := lookupBytes + len(field)
		if err := r.s.take(r.env, more); err != nil {
			return err
		}
		look += more
		twice = twice || seen[field]
		seen[field] = true
		if err := r.value(field, depth+1); err != nil {
			return err
		}
	}
	r.out.End()
	if twice {
		more := r.out.Len() - body
		if err := r.s.take(r.env, more); err != nil {
			return err
		}
		look += more
		doc := bson.Raw(bytes.Clone(r.out.Since(body)))
		r.out.Cut(begin)
		r.lastOfEach(name, doc)
	}
	_, err := r.in.Token()
	return err
}

// lastOfEach appends doc with the last value of each name.
func (r *jsonReader) lastOfEach(name string, doc bson.Raw) {
	last := map[string]bson.Value{}
	for it := doc.Iter(); it.Next(); {
		last[string(it.Name)] = it.Value
	}
	r.out.BeginDoc(name)
	for it := doc.Iter(); it.Next(); {
		if v, ok := last[string(it.Name)]; ok {
			r.out.ValueBytes(it.Name, v)
			delete(last, string(it.Name))
		}
	}
	r.out.End()
}

// number appends a JSON number: an integer of 32 or 64 bits, or a double if the number has a fraction or an
// exponent, or does not fit.
func (r *jsonReader) number(name, text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n >= math.MinInt32 && n <= math.MaxInt32 {
			r.out.Int32(name, int32(n))
		} else {
			r.out.Int64(name, n)
		}
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return failed("Input doesn't represent valid JSON: the number %s is out of range", text)
	}
	r.out.Double(name, f)
	return nil
}
