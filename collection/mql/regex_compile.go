package mql

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/regex"
)

// patternBytesMax is the length in bytes of the longest pattern that is accepted. Manual:
// reference/operator/query/regex (pattern length).
const patternBytesMax = 16 << 10

// CompileRegex compiles a PCRE pattern with options, letters out of i, m, s, x and u.
//
// Errors: 51108 for an unknown option, BadValue for a zero byte, 51091 for a pattern that does not compile, is no
// UTF-8 or has more than 16384 bytes.
func CompileRegex(pattern, options string) (*Regex, error) {
	var flags regex.Flags
	for _, c := range options {
		switch c {
		case 'i':
			flags.Fold = true
		case 'm':
			flags.Multiline = true
		case 's':
			flags.DotAll = true
		case 'x':
			flags.Extended = true
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
	tree, err := regex.Parse(pattern, flags)
	if err != nil {
		return nil, badPattern(err.Error())
	}
	r := &Regex{Pattern: pattern, Options: options, groups: tree.Groups}
	r.compileLinear(tree)
	switch {
	case r.linear == nil:
		program := tree.Compile()
		r.slow = func() *regex.Program { return program }
	case r.finalLine || r.empty || r.rounds:
		r.slow = sync.OnceValue(tree.Compile)
	}
	r.prefix, r.whole = literalPrefix(pattern, options)
	return r, nil
}

// compileLinear compiles the pattern for the linear engine. If this engine does not support the pattern, r.linear stays
// nil.
func (r *Regex) compileLinear(tree *regex.Tree) {
	form, ok := tree.Linear()
	if !ok {
		return
	}
	re, err := regexp.Compile(form.Text)
	if err != nil {
		return
	}
	r.linear, r.finalLine, r.rounds = re, form.FinalLine, form.EmptyRounds
	r.next = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + form.Text + ")")
	})
	parsed, err := syntax.Parse(form.Text, syntax.Perl)
	r.empty = err != nil || minLength(parsed) == 0
	if err == nil {
		nodes, steps := programSize(parsed)
		r.held = regexHeld + nodes + steps*stepHeld
		r.literal = literalOf(parsed)
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

// matchError returns the error for a match that ended before it was decided.
func matchError(err error) error {
	switch {
	case errors.Is(err, regex.ErrSteps), errors.Is(err, regex.ErrMemory):
		return mongoerr.New(51156, "Error occurred while executing the regular expression: %v; "+
			"repeated groups in repeated groups, as (a+)+, take time that doubles with each character: write the pattern without them", err)
	case errors.Is(err, regex.ErrRecursion):
		return mongoerr.New(51156, "Error occurred while executing the regular expression: %v; "+
			"let a group that calls itself match a character first", err)
	}
	return err
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
