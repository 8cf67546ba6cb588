package mql

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// literal is a text that every match of a pattern contains: a search for its bytes rejects most texts without an
// engine.
type literal struct {
	text []byte // nil if there is none
	// atEnd reports that the text is at the end of every match, and that a match ends where the tested text ends.
	atEnd bool
	// whole reports that the pattern has no other condition.
	whole bool
}

// decide decides by a search for the literal of the pattern whether it matches text; decided is false if that
// requires an engine. decide does not allocate.
func (r *Regex) decide(text []byte) (matches, decided bool) {
	l := &r.literal
	switch {
	case l.text == nil:
		return false, false
	case r.finalLine && len(text) > 0 && text[len(text)-1] == '\n': // the match may end before the newline
		return false, !bytes.Contains(text, l.text)
	case l.atEnd:
		matches = bytes.HasSuffix(text, l.text)
	default:
		matches = bytes.Contains(text, l.text)
	}
	return matches, !matches || l.whole
}

// literalOf returns the literal of a pattern of the linear engine.
func literalOf(re *syntax.Regexp) literal {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if text := exactText(re); text != "" {
		return literal{text: []byte(text), whole: true}
	}
	if n := len(re.Sub); re.Op == syntax.OpConcat && re.Sub[n-1].Op == syntax.OpEndText {
		if text := exactText(re.Sub[n-2]); text != "" {
			return literal{text: []byte(text), atEnd: true, whole: n == 2}
		}
	}
	if text := requiredText(re); text != "" {
		return literal{text: []byte(text)}
	}
	return literal{}
}

// requiredText returns the longest text that is found to be in every match of a pattern; "" if none is found.
func requiredText(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return exactText(re)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredText(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredText(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if text := requiredText(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	}
	return ""
}

// exactText returns the only text that a pattern matches, if it is a literal; else "". The engine reads each byte that
// is no UTF-8 as the character U+FFFD, so a literal with this character has other texts too; so has one in which upper
// and lower case are the same.
func exactText(re *syntax.Regexp) string {
	if re.Op != syntax.OpLiteral {
		return ""
	}
	var b strings.Builder
	for _, c := range re.Rune {
		if c == utf8.RuneError || re.Flags&syntax.FoldCase != 0 && unicode.SimpleFold(c) != c {
			return ""
		}
		b.WriteRune(c)
	}
	return b.String()
}
