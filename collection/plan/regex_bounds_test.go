package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// regexIndexes are the indexes whose bounds for regular expressions are tested.
var regexIndexes = []string{
	`{key: {a: 1}, name: "a"}`, `{key: {a: -1}, name: "down"}`, `{key: {b: 1, a: 1}, name: "ba"}`, `{key: {"$**": 1}, name: "all"}`,
	`{key: {a: 1}, name: "en", collation: {locale: "en", strength: 2}}`,
}

// pick returns one of its arguments.
func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// regexText returns a text of ordinary characters and of characters with a meaning in patterns.
func regexText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pick(r, "a", "b", "A", `\`, ".", "*", "é", "É", "\n", " ", "#", "{", "|", "^", "Q", "E", "1", "\U0001F600"))
	}
	return b.String()
}

// escaped returns a pattern that matches exactly the text.
func escaped(r *rand.Rand, text string) string {
	if r.IntN(4) == 0 {
		return `\Q` + text + pick(r, `\E`, `\E`, "")
	}
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune(`\.*{|^# `, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// regexPattern returns a pattern that often matches text, or a text with its prefix.
func regexPattern(r *rand.Rand, text string) string {
	p := pick(r, "^", "^", "^", "^", `\A`, "", "(?i)^", "(?#c)^")
	for range r.IntN(4) {
		part := text[:r.IntN(len(text)+1)]
		if r.IntN(2) == 0 {
			part = text
		}
		p += escaped(r, part)
		p += pick(r, "", "", "", "*", "?", "+", "{0}", "{2}", "{0,1}", `\E*`, "(?#c)*", "(?#c)?", "*?", "++", ".*", ".", "$", "|b", "|^a",
			"(?i)", "(?:b)?", "(?=a)", `\w`, `\x41`, "[ab]*", " *", "# c", `\E?`, `\Q\E*`, "\n", `\b`)
	}
	return p
}

// textDocument returns a document with the text in a, alone or in an array.
func textDocument(r *rand.Rand, text string) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("_id", 1)
	b.Int32("b", 1)
	if r.IntN(4) > 0 {
		b.String("a", text)
		return b.Doc()
	}
	b.BeginArray("a")
	b.String("", text)
	b.String("", regexText(r))
	b.End()
	return b.Doc()
}

// regexFilter returns a filter with the pattern, in one of the possible forms.
func regexFilter(r *rand.Rand, pattern, options string) bson.Raw {
	var a bson.Arena
	v := a.Regex(pattern, options)
	b := bson.NewBuilder(nil)
	b.Int32("b", 1)
	switch r.IntN(4) {
	case 0:
		b.BeginDoc("a")
		b.BeginArray("$in")
		b.Value("", v)
		b.String("", "zz")
		b.End()
		b.End()
	case 1:
		b.BeginDoc("a")
		b.Value("$not", v)
		b.End()
	default:
		b.Value("a", v)
	}
	return b.Doc()
}

// Random regular expressions over random strings: if a string matches, its key lies within the bounds
// that a plan with the index reads.
func TestRegexBounds(t *testing.T) {
	c := checkerOf(t, regexIndexes)
	matched, narrow := 0, 0
	for seed := range uint64(6000) {
		r := rand.New(rand.NewPCG(seed, 2))
		text := regexText(r)
		pattern, options := regexPattern(r, text), pick(r, "", "", "", "", "i", "x", "m", "s", "xs")
		re, err := mql.CompileRegex(pattern, options)
		if err != nil {
			continue
		}
		if ok, err := re.Match([]byte(text)); ok && err == nil {
			matched++
			if prefix, _ := re.LiteralPrefix(); prefix != "" {
				narrow++
			}
		}
		doc, filter := textDocument(r, text), regexFilter(r, pattern, options)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, spec := range c.specs {
				checkBounds(t, c.env, c.m, spec, doc, filter)
			}
		})
	}
	if matched < 1000 || narrow < 150 {
		t.Errorf("only %d of the patterns matched, %d with a prefix", matched, narrow)
	}
}
