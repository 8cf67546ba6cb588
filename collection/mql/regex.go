package mql

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cantledb/cantle/collection/mongoerr"

	"github.com/dlclark/regexp2/v2"
)

// Regex is a compiled regular expression of MongoDB's kind (PCRE). Patterns that have the same meaning in RE2 run on
// the linear engine, in time linear in the text; look-around, back-references, atomic groups and the like run on a
// backtracking engine under a time limit. Immutable, safe for concurrent use. Manual:
// reference/operator/query/regex.
type Regex struct {
	// Pattern and Options are the arguments of CompileRegex.
	Pattern, Options string

	linear *regexp.Regexp        // nil if the pattern needs backtracking
	next   func() *regexp.Regexp // finds the match after the first character; see EachWithin
	// dollar is set if the pattern has a \Z, or a `$` outside of multi-line mode, which also matches before a final
	// newline. RE2 cannot express that, so texts that end with a newline are matched by backtracking.
	dollar bool
	slow   func() *regexp2.Regexp
	empty  bool // may match the empty text
	// literal is the zero value if the pattern needs backtracking.
	literal literal
	prefix  string
	whole   bool
	groups  int
	held    int64 // see RegexHeld
}

// backtrackMax is the timeout of one match on the backtracking engine.
const backtrackMax = 250 * time.Millisecond

// patternBytesMax is the length in bytes of the longest pattern that is accepted. Manual:
// reference/operator/query/regex (pattern length).
const patternBytesMax = 16 << 10

// CompileRegex compiles a PCRE pattern with options, letters out of i, m, s, x and u.
//
// Errors: 51108 for an unknown option, BadValue for a zero byte, 51091 for a pattern that does not compile, is no
// UTF-8 or has more than 16384 bytes.
func CompileRegex(pattern, options string) (*Regex, error) {
	t := translator{in: pattern}
	for _, c := range options {
		switch c {
		case 'i':
			t.fold = true
		case 'm':
			t.multiline = true
		case 's':
			t.dotAll = true
		case 'x':
			t.extended = true
		case 'u':
		default:
			return nil, mongoerr.New(51108, "invalid flag in regex options: %c", c)
		}
	}
	if strings.IndexByte(pattern, 0) >= 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Regular expression cannot contain an embedded null byte")
	}
	if len(pattern) > patternBytesMax {
		return nil, badPattern("pattern is longer than 16384 bytes")
	}
	if !utf8.ValidString(pattern) {
		return nil, badPattern("invalid UTF-8 string")
	}
	if err := t.run(); err != "" {
		return nil, badPattern(err)
	}
	r := &Regex{Pattern: pattern, Options: options, dollar: t.dollar}
	backtracking := t.slow.String()
	flags := regexp2.None
	if t.fold {
		flags |= regexp2.IgnoreCase
	}
	if strings.Contains(options, "m") { // flags within the pattern are part of it
		flags |= regexp2.Multiline
	}
	if strings.Contains(options, "s") {
		flags |= regexp2.Singleline
	}
	compile := func() (*regexp2.Regexp, error) {
		// The stack of the backtracking engine needs no limit of its own: MatchTimeout limits the time, and so the
		// growth.
		re, err := regexp2.Compile(backtracking, flags, regexp2.OptionMaxBacktrackingStackSize(-1))
		if err == nil {
			re.MatchTimeout = backtrackMax
		}
		return re, err
	}
	if !t.needsSlow {
		r.compileLinear(t)
	}
	if r.linear == nil {
		re, err := compile()
		if err != nil {
			return nil, badPattern(err.Error())
		}
		r.groups = len(re.GetGroupNumbers()) - 1
		r.slow = func() *regexp2.Regexp { return re }
	} else if r.dollar || r.empty {
		r.slow = sync.OnceValue(func() *regexp2.Regexp {
			re, _ := compile()
			return re
		})
	}
	r.prefix, r.whole = literalPrefix(pattern, options)
	return r, nil
}

// compileLinear compiles the translated pattern for the linear engine. If this engine does not support the pattern,
// r.linear stays nil.
func (r *Regex) compileLinear(t translator) {
	head := ""
	if t.fold {
		head += "i"
	}
	if strings.Contains(r.Options, "m") {
		head += "m"
	}
	if strings.Contains(r.Options, "s") {
		head += "s"
	}
	if head != "" {
		head = "(?" + head + ")"
	}
	text := head + t.fast.String()
	re, err := regexp.Compile(text)
	if err != nil {
		return
	}
	r.linear, r.groups = re, re.NumSubexp()
	r.next = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + text + ")")
	})
	tree, err := syntax.Parse(text, syntax.Perl)
	r.empty = err != nil || minLength(tree) == 0
	if err == nil {
		nodes, steps := programSize(tree)
		r.held = regexHeld + nodes + steps*stepHeld
		r.literal = literalOf(tree)
	}
}

// regexHeld, stepHeld and slowHeld are upper bounds of the heap bytes of a compiled pattern, of each step of its
// program, and of each byte of a backtracking pattern, after matches on any engine.
const regexHeld, stepHeld, slowHeld = 8 << 10, 128, 512

// RegexHeld returns an upper bound of the heap bytes that a pattern occupies once it is compiled. A pattern that
// does not compile gets the bound of a backtracking one.
func RegexHeld(pattern string) int64 {
	if r, err := CompileRegex(pattern, ""); err == nil && r.linear != nil {
		return r.held
	}
	return regexHeld + int64(len(pattern))*slowHeld
}

// programSize returns estimates for a parsed pattern of the linear engine: the bytes of its syntax tree and the
// number of steps of its program. A repeated part counts once per repetition.
func programSize(re *syntax.Regexp) (nodes, steps int64) {
	nodes, steps = 256+4*int64(len(re.Rune)), 2
	if re.Op == syntax.OpLiteral {
		steps += int64(len(re.Rune))
	}
	for _, sub := range re.Sub {
		n, s := programSize(sub)
		nodes, steps = nodes+n, steps+s
	}
	if re.Op == syntax.OpRepeat {
		steps *= int64(max(re.Min, re.Max, 1))
	}
	return nodes, steps
}

// badPattern returns the error for a pattern that no engine compiles.
func badPattern(why string) error {
	return mongoerr.New(51091, "Regular expression is invalid: %s", why)
}

// engine returns the backtracking engine if text requires it, else nil.
func (r *Regex) engine(text []byte) *regexp2.Regexp {
	if r.linear == nil || r.dollar && len(text) > 0 && text[len(text)-1] == '\n' {
		return r.slow()
	}
	return nil
}

// Backtracks reports whether matching text takes the backtracking engine and so may take long, up to backtrackMax. A
// command does such a match after Env.BeginUninterruptible.
func (r *Regex) Backtracks(text []byte) bool { return r.engine(text) != nil }

// Match reports whether the pattern matches somewhere in text. On the linear engine it does not allocate.
//
// Errors: 51156 if the match takes too long. A false instead would make the result depend on the load of the
// machine.
func (r *Regex) Match(text []byte) (bool, error) {
	if ok, decided := r.decide(text); decided {
		return ok, nil
	}
	re := r.engine(text)
	if re == nil {
		return r.linear.Match(text), nil
	}
	ok, err := re.MatchString(string(text))
	if err != nil {
		return false, tooSlow()
	}
	return ok, nil
}

// Groups returns the number of capturing groups.
func (r *Regex) Groups() int { return r.groups }

// FindIndex finds the first match that begins at or after byte from of text (on the linear engine, of those that do
// not overlap an earlier match). It returns the byte offsets, in pairs of begin and end, of the match and of its
// groups, -1 for a group that took no part; nil if there is no match.
//
// Errors: 51156 if the match takes too long.
func (r *Regex) FindIndex(text []byte, from int) ([]int, error) {
	re := r.engine(text)
	if re == nil {
		// The search is in the whole text, so that ^ and \b see the characters before from.
		if from == 0 {
			return r.linear.FindSubmatchIndex(text), nil
		}
		for _, loc := range r.linear.FindAllSubmatchIndex(text, -1) {
			if loc[0] >= from {
				return loc, nil
			}
		}
		return nil, nil
	}
	runes := bytes.Runes(text)
	start := utf8.RuneCount(text[:from])
	m, err := re.FindRunesMatchStartingAt(runes, start)
	if err != nil {
		return nil, tooSlow()
	}
	if m == nil {
		return nil, nil
	}
	c := cursor{text: text}
	return c.offsets(m), nil
}

// tooSlow returns the error for a match that takes too long.
func tooSlow() error {
	return mongoerr.New(51156, "Error occurred while executing the regular expression: match limit exceeded; "+
		"repeated groups in repeated groups, as (a+)+, take time that doubles with each character: write the pattern without them")
}

// FindAll returns up to most matches of the pattern in text, all for -1, in the order and form of Each.
//
// Errors: 51156 if a match takes too long.
func (r *Regex) FindAll(text []byte, most int) (all [][]int, err error) {
	err = r.Each(text, func(m []int) error {
		if most >= 0 && len(all) >= most {
			return errStop
		}
		all = append(all, m)
		return nil
	})
	if err == errStop {
		err = nil
	}
	return all, err
}

var errStop = errors.New("enough")

// matchesMax is more matches than fit into any document.
const matchesMax = 2 << 20

// Each calls f for every match in text, from left to right, until f returns an error. m has the form of FindIndex's
// result. The search continues at the end of a match, or one character after an empty match. An empty match at the
// end of a text counts only if it is the only match.
//
// Errors: 51156 if a match takes too long; the error of f.
func (r *Regex) Each(text []byte, f func(m []int) error) error {
	re := r.engine(text)
	if re == nil && !r.empty {
		for _, m := range r.linear.FindAllSubmatchIndex(text, matchesMax) {
			if err := f(m); err != nil {
				return err
			}
		}
		return nil
	}
	if re == nil {
		re = r.slow() // RE2 skips empty matches directly after other matches
	}
	runes := bytes.Runes(text)
	c := cursor{text: text}
	for at := 0; ; {
		m, err := re.FindRunesMatchStartingAt(runes, at)
		if err != nil {
			return tooSlow()
		}
		if m == nil || at > 0 && m.RuneIndex >= len(runes) {
			return nil
		}
		if err := f(c.offsets(m)); err != nil {
			return err
		}
		if at = m.RuneIndex + max(m.RuneLength, 1); at >= len(runes) {
			return nil
		}
	}
}

// minLength returns a lower bound of the number of characters that a match of the pattern re contains.
func minLength(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return minLength(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min == 0 {
			return 0
		}
		return minLength(re.Sub[0])
	case syntax.OpConcat:
		n := 0
		for _, s := range re.Sub {
			n += minLength(s)
		}
		return n
	case syntax.OpAlternate:
		n := minLength(re.Sub[0])
		for _, s := range re.Sub[1:] {
			n = min(n, minLength(s))
		}
		return n
	}
	return 0
}

// cursor converts rune offsets to byte offsets, from left to right.
type cursor struct {
	text  []byte
	runes int // position in both units
	bytes int
}

// at returns the byte offset of the rune offset n. If n is before the cursor, the cursor starts again at the
// beginning.
func (c *cursor) at(n int) int {
	if n < c.runes {
		c.runes, c.bytes = 0, 0
	}
	for c.runes < n && c.bytes < len(c.text) {
		_, size := utf8.DecodeRune(c.text[c.bytes:])
		c.bytes += size
		c.runes++
	}
	return c.bytes
}

// offsets converts the offsets of a match.
func (c *cursor) offsets(m *regexp2.Match) (dst []int) {
	for _, g := range m.Groups() {
		if len(g.Captures) == 0 {
			dst = append(dst, -1, -1)
			continue
		}
		from := c.at(g.RuneIndex)
		dst = append(dst, from, c.at(g.RuneIndex+g.RuneLength))
		c.runes, c.bytes = g.RuneIndex, from // groups lie within the match
	}
	return dst
}
