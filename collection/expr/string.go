package expr

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// newText allocates a string of n bytes in the arena; the caller fills text, its bytes. op is the operator that
// an error names.
//
// Errors: 16493 if a string of that length does not fit into a document, ExceededMemoryLimit.
func (s *Scratch) newText(env *mql.Env, op string, n int) (v bson.Value, text []byte, err error) {
	if n >= bson.MaxDocumentBytes {
		return v, nil, longString(op)
	}
	if n > freeBytes {
		if err := s.reserve(env, n); err != nil {
			return v, nil, err
		}
	}
	p := s.Alloc(n + 5)
	p[0], p[1], p[2], p[3] = byte(n+1), byte((n+1)>>8), byte((n+1)>>16), byte((n+1)>>24)
	p[n+4] = 0
	return bson.Value{Type: bson.TypeString, Data: p}, p[4 : n+4], nil
}

// longString returns the error for a string that does not fit into a document.
func longString(op string) error {
	return mongoerr.New(16493, "Tried to create string longer than %dMB in %s", bson.MaxDocumentBytes>>20, op)
}

// concat is $concat.
func concat(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	n := 0
	for _, v := range a {
		if v.IsNullish() {
			return bson.Null, nil
		}
		if v.Type != bson.TypeString {
			return v, mongoerr.New(16702, "$concat only supports strings, not %s", v.Type)
		}
		n += len(v.Data) - 5
	}
	out, text, err := s.newText(env, "$concat", n)
	if err != nil {
		return out, err
	}
	for _, v := range a {
		t, _ := v.Text()
		text = text[copy(text, t):]
	}
	return out, nil
}

// toUpper is $toUpper. It converts only ASCII letters, like MongoDB.
func toUpper(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	return mapText(s, a[0], upper)
}

// toLower is $toLower.
func toLower(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	return mapText(s, a[0], lower)
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func mapText(s *Scratch, v bson.Value, f func(byte) byte) (bson.Value, error) {
	t, err := textOf(v)
	if err != nil {
		return v, err
	}
	out := s.StringBytes(t)
	text := out.Data[4 : len(out.Data)-1]
	for i, c := range text {
		text[i] = f(c)
	}
	return out, nil
}

// strcasecmp is $strcasecmp.
func strcasecmp(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	x, err := textOf(a[0])
	if err != nil {
		return a[0], err
	}
	y, err := textOf(a[1])
	if err != nil {
		return a[1], err
	}
	for i := 0; i < len(x) && i < len(y); i++ {
		if c, d := upper(x[i]), upper(y[i]); c != d {
			if c < d {
				return s.Int32(-1), nil
			}
			return s.Int32(1), nil
		}
	}
	switch {
	case len(x) < len(y):
		return s.Int32(-1), nil
	case len(x) > len(y):
		return s.Int32(1), nil
	}
	return s.Int32(0), nil
}

// strLenBytes is $strLenBytes.
func strLenBytes(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].Type != bson.TypeString {
		return a[0], mongoerr.New(34473, "$strLenBytes requires a string argument, found: %s", a[0].Type)
	}
	return s.Int32(int32(len(a[0].Data) - 5)), nil
}

// strLenCP is $strLenCP.
func strLenCP(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].Type != bson.TypeString {
		return a[0], mongoerr.New(34471, "$strLenCP requires a string argument, found: %s", a[0].Type)
	}
	t, _ := a[0].Text()
	return s.Int32(int32(codePoints(t))), nil
}

// codePoints counts the bytes that begin a UTF-8 sequence.
func codePoints(t []byte) int {
	n := 0
	for _, c := range t {
		if c&0xc0 != 0x80 {
			n++
		}
	}
	return n
}

// byteOffset returns the offset in bytes at which the n-th code point of t begins, len(t) if there are fewer.
func byteOffset(t []byte, n int) int {
	for i, c := range t {
		if c&0xc0 != 0x80 {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return len(t)
}

// parseSplit parses $split.
func parseSplit(p *parser, op *Operator, v bson.Value) (Expr, error) {
	patterns := &regexCall{name: op.Name}
	return positional(func(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
		if a[0].Type == bson.TypeString && a[1].Type == bson.TypeRegex {
			return patterns.split(env, s, a)
		}
		return split(env, s, a)
	})(p, op, v)
}

// split is $split by a text.
func split(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() || a[1].IsNullish() {
		return bson.Null, nil
	}
	if a[0].Type != bson.TypeString {
		return a[0], mongoerr.New(40085, "$split requires an expression that evaluates to a string as a first argument, found: %s", a[0].Type)
	}
	text, _ := a[0].Text()
	var sep []byte
	if a[1].Type != bson.TypeString {
		return a[1], mongoerr.New(10503900, "$split requires an expression that evaluates to a string as a second argument, found: %s", a[1].Type)
	}
	sep, _ = a[1].Text()
	if len(sep) == 0 {
		return a[1], mongoerr.New(40087, "$split requires a non-empty separator")
	}
	if err := env.Spend(len(text)); err != nil {
		return a[0], err
	}
	b := s.newArray()
	for {
		i := bytes.Index(text, sep)
		part := text
		if i >= 0 {
			part = text[:i]
		}
		if err := s.room(env, b, len(part)+headBytes); err != nil {
			s.drop(b)
			return bson.Value{}, err
		}
		b.StringBytes("", part)
		if i < 0 {
			break
		}
		text = text[i+len(sep):]
	}
	return s.endArray(env, b)
}
