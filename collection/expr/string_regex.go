package expr

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// regexCall is $regexMatch, $regexFind or $regexFindAll. It caches the last compiled pattern, which is nearly
// always the same for all documents.
type regexCall struct {
	name                  string
	input, regex, options Expr // options nil if absent
	last                  atomic.Pointer[mql.Regex]
	fixed                 *mql.Regex // of a constant pattern
}

var regexSignature = &signature{
	fields:    []field{{name: "input", missing: 31022}, {name: "regex", missing: 31023}, {name: "options"}},
	notObject: 51103, unknown: 31024,
}

func parseRegex(p *parser, op *Operator, v bson.Value) (Expr, error) {
	args, err := p.namedArgs(op, regexSignature, v)
	if err != nil {
		return nil, err
	}
	r := &regexCall{name: op.Name, input: args[0], regex: args[1], options: args[2]}
	// A constant pattern is checked now, independently of the documents.
	if re, ok := IsConstant(r.regex); ok {
		var opt bson.Value
		ok := r.options == nil
		if !ok {
			opt, ok = IsConstant(r.options)
		}
		if ok {
			if r.fixed, err = r.compile(re, opt); err != nil && !p.late() {
				return nil, err
			}
		}
	}
	return p.fold(r)
}

// compile returns the compiled pattern of the arguments regex and options, nil if the pattern is null or
// missing.
func (r *regexCall) compile(re, opt bson.Value) (*mql.Regex, error) {
	pattern, options, isRegex := re.Regex()
	switch {
	case isRegex, re.IsNullish():
	case re.Type == bson.TypeString:
		pattern, _ = re.Str()
	default:
		return nil, mongoerr.New(51105, "%s needs 'regex' to be of type string or regex", r.name)
	}
	switch {
	case opt.Type == bson.TypeString:
		if options != "" {
			return nil, mongoerr.New(51107, "%s: found regex option(s) specified in both 'regex' and 'option' fields", r.name)
		}
		options, _ = opt.Str()
	case !opt.IsNullish():
		return nil, mongoerr.New(51106, "%s needs 'options' to be of type string", r.name)
	}
	if strings.IndexByte(pattern, 0) >= 0 {
		return nil, mongoerr.New(51109, "%s: regular expression cannot contain an embedded null byte", r.name)
	}
	if strings.IndexByte(options, 0) >= 0 {
		return nil, mongoerr.New(51110, "%s: regular expression options cannot contain an embedded null byte", r.name)
	}
	if re.IsNullish() {
		return nil, nil
	}
	if c := r.last.Load(); c != nil && c.Pattern == pattern && c.Options == options {
		return c, nil
	}
	c, err := mql.CompileRegex(pattern, options)
	if err != nil {
		var e *mongoerr.Error
		if errors.As(err, &e) && e.Code == 51091 {
			return nil, mongoerr.New(51111, "Invalid Regex in %s: %s", r.name, e.Msg)
		}
		return nil, err
	}
	r.last.Store(c)
	return c, nil
}

func (r *regexCall) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	input, err := r.input.Eval(env, doc, s)
	if err != nil {
		return input, err
	}
	re, err := r.regex.Eval(env, doc, s)
	if err != nil {
		return re, err
	}
	var opt bson.Value
	if r.options != nil {
		if opt, err = r.options.Eval(env, doc, s); err != nil {
			return opt, err
		}
	}
	if !input.IsNullish() && input.Type != bson.TypeString {
		return input, mongoerr.New(51104, "%s needs 'input' to be of type string", r.name)
	}
	c := r.fixed
	if c == nil {
		if c, err = r.compile(re, opt); err != nil {
			return re, err
		}
	}
	none := c == nil || input.IsNullish()
	text, _ := input.Text()
	if !none {
		done, err := c.Begin(env, text)
		if err != nil {
			return re, err
		}
		defer done()
	}
	switch r.name {
	case "$regexMatch":
		if none {
			return bson.Bool(false), nil
		}
		ok, err := c.MatchWithin(env, text)
		return bson.Bool(ok), err
	case "$regexFind":
		if none {
			return bson.Null, nil
		}
		m, err := c.FindWithin(env, text)
		if err != nil || m == nil {
			return bson.Null, err
		}
		b := s.newDoc()
		if err := s.room(env, b, matchBytes(m)); err != nil {
			s.drop(b)
			return re, err
		}
		appendMatch(b, text, m, codePoints(text[:m[0]]))
		return s.endDoc(env, b)
	}
	if none {
		return bson.EmptyArray, nil
	}
	return r.findAll(env, s, c, text)
}

// findAll computes $regexFindAll.
func (r *regexCall) findAll(env *mql.Env, s *Scratch, c *mql.Regex, text []byte) (bson.Value, error) {
	b := s.newArray()
	at, idx := 0, 0 // position of the last match in bytes and in code points
	err := c.EachWithin(env, text, func(m []int) error {
		idx += codePoints(text[at:m[0]])
		at = m[0]
		n := matchBytes(m)
		if b.Len()+n > regexBytesMax {
			return mongoerr.New(51151, "%s: the size of buffer to store output exceeded the 64MB limit", r.name)
		}
		if err := s.room(env, b, n); err != nil {
			return err
		}
		b.BeginDoc("")
		appendMatch(b, text, m, idx)
		b.End()
		return env.Tick()
	})
	if err != nil {
		s.drop(b)
		return bson.Value{}, err
	}
	return s.endArray(env, b)
}

// regexBytesMax limits the result of $regexFindAll.
const regexBytesMax = 64 << 20

// matchBytes returns an upper bound of the bytes that the document of a match m takes in the result of $regexFind
// or $regexFindAll, so that limit and memory are checked before it is appended. Nested groups repeat the text, so
// each group counts.
func matchBytes(m []int) int {
	n := 4 * headBytes
	for i := 0; i < len(m); i += 2 {
		n += m[i+1] - m[i] + headBytes
	}
	return n
}

// appendMatch appends the fields of a match m: match, idx (in code points) and captures.
func appendMatch(b *making, text []byte, m []int, idx int) {
	b.StringBytes("match", text[m[0]:m[1]])
	b.Int32("idx", int32(idx))
	b.BeginArray("captures")
	for i := 2; i < len(m); i += 2 {
		if m[i] < 0 {
			b.Null("")
		} else {
			b.StringBytes("", text[m[i]:m[i+1]])
		}
	}
	b.End()
}

func (r *regexCall) children(add func(Expr)) {
	add(r.input)
	add(r.regex)
	if r.options != nil {
		add(r.options)
	}
}

func (r *regexCall) Paths(add func(string)) { pathsOf(r, add) }

func (r *regexCall) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(r.name)
	r.input.Append(b, "input")
	r.regex.Append(b, "regex")
	if r.options != nil {
		r.options.Append(b, "options")
	}
	b.End()
	b.End()
}
