package match

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	opOptions = Operator{Name: "$options", Where: Field, Parse: parseOptions, Doc: "reference/operator/query/regex#mongodb-query-op.-options"}
	opRegex   = Operator{Name: "$regex", Where: Field, Parse: parseRegex, Doc: "reference/operator/query/regex"}
)

// parseOptions only checks that $regex is present, which reads $options.
func parseOptions(_ *parser, a operand) (Node, error) {
	if _, ok := a.all.Lookup("$regex"); !ok {
		return nil, badValue("$options needs a $regex")
	}
	return nil, nil
}

// parseRegex reads {$regex: pattern, $options: "i"}. The pattern may be a string or a regular expression; a regular
// expression with options of its own excludes $options.
func parseRegex(p *parser, a operand) (Node, error) {
	var pattern, options string
	given, first := bson.Value{}, false
	for it := a.all.Iter(); it.Next(); {
		switch string(it.Name) {
		case "$options":
			given = it.Value
		case "$regex":
			first = given.IsMissing()
		}
	}
	switch v := a.value; v.Type {
	case bson.TypeString:
		pattern, _ = v.Str()
	case bson.TypeRegex:
		pattern, options, _ = v.Regex()
	default:
		return nil, badValue("$regex has to be a string")
	}
	if !given.IsMissing() {
		text, ok := given.Str()
		switch {
		case !ok || given.Type != bson.TypeString:
			return nil, badValue("$options has to be a string")
		case options != "" && first:
			return nil, mongoerr.New(51075, "options set in both $regex and $options")
		case options != "":
			return nil, mongoerr.New(51074, "options set in both $regex and $options")
		}
		options = text
	}
	if strings.IndexByte(pattern, 0) >= 0 {
		return nil, badValue("Regular expression cannot contain an embedded null byte")
	}
	var arena bson.Arena
	r, err := p.newRegex(pattern, options, &arena)
	if err != nil {
		return nil, err
	}
	return newLeaf(a.path, r), nil
}

// regexLeaf returns the node {path: /pattern/options}.
func (p *parser) regexLeaf(at path.Path, v bson.Value) (Node, error) {
	r, err := p.regexOf(v)
	if err != nil {
		return nil, err
	}
	return newLeaf(at, r), nil
}

func (p *parser) regexOf(v bson.Value) (*regex, error) {
	pattern, options, _ := v.Regex()
	return p.newRegex(pattern, options, &bson.Arena{})
}

func (p *parser) newRegex(pattern, options string, arena *bson.Arena) (*regex, error) {
	re, err := mql.CompileRegex(pattern, options)
	if err != nil {
		return nil, err
	}
	r := &regex{source: arena.Regex(pattern, options), pattern: pattern, options: options, re: re}
	if p.rules.order == nil {
		r.prefix, r.whole = re.LiteralPrefix()
	}
	return r, nil
}

// regex is the predicate of $regex: it matches a string that contains a match of a pattern, or a value that is the
// same regular expression. Collations do not apply.
type regex struct {
	source           bson.Value // the BSON value
	pattern, options string
	re               *mql.Regex
	prefix           string // every match begins with it
	whole            bool   // every string with the prefix matches
}

func (r *regex) name() string { return "$regex" }

func (*regex) reasons() (no, yes string) {
	return "regular expression did not match", "regular expression did match"
}

func (*regex) sameForEqual() bool { return true }

func (r *regex) holds(env *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		text, _ := v.Text()
		if ok, known := r.re.MatchLinear(text); known {
			return ok, nil
		}
		done, err := r.re.Begin(env, text)
		if err != nil {
			return false, err
		}
		defer done()
		return r.re.MatchWithin(env, text)
	case bson.TypeRegex:
		return bson.Equal(v, r.source, nil), nil
	}
	return false, nil
}

func (r *regex) append(b *bson.Builder) {
	b.String("$regex", r.pattern)
	if r.options != "" {
		b.String("$options", r.options)
	}
}

func (r *regex) shape(dst []byte) []byte {
	if r.prefix == "" {
		return append(dst, "$regex"...)
	}
	return append(dst, "$regex ^"...)
}

func (r *regex) bounds(add func(Interval)) (exact bool) {
	i := classBounds(bson.TypeString)
	if r.prefix != "" {
		var arena bson.Arena
		i.Lo = arena.String(r.prefix)
		if next := successor(r.prefix); next != "" {
			i.Hi = arena.String(next)
		}
	}
	add(i)
	add(point(r.source))
	return r.whole
}

// successor returns the least string above all strings that begin with s, the end of their interval; "" if there is
// none.
func successor(s string) string {
	b := []byte(s)
	for len(b) > 0 && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) > 0 {
		b[len(b)-1]++
	}
	return string(b)
}
