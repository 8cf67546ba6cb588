package mql

import (
	"strings"
	"unicode/utf8"
)

// LiteralPrefix returns the text with which every string must begin that the pattern matches, for the bounds of an
// index. whole reports that the pattern matches every text with that prefix: ^abc, or ^abc.* with option s. The
// prefix is empty if the pattern is not anchored, contains |, or has the option i, m or x.
func (r *Regex) LiteralPrefix() (prefix string, whole bool) { return r.prefix, r.whole }

// literalPrefix returns the literal characters after the anchor ^ of a pattern, up to the first element that is not
// one literal character. The second result reports whether the pattern matches every text that begins with them.
func literalPrefix(pattern, options string) (string, bool) {
	if strings.ContainsAny(options, "imx") || strings.IndexByte(pattern, '|') >= 0 {
		return "", false
	}
	rest, ok := strings.CutPrefix(pattern, "^")
	if !ok {
		if rest, ok = strings.CutPrefix(pattern, `\A`); !ok {
			return "", false
		}
	}
	p := prefixReader{rest: rest}
	for p.rest != "" {
		if !p.step() {
			// With option s, a pattern that ends with ".*" after the prefix matches any text there.
			return string(p.text), p.rest == ".*" && strings.Contains(options, "s")
		}
	}
	return string(p.text), true
}

// prefixReader reads the literal characters at the start of a pattern.
type prefixReader struct {
	rest   string // unread rest of the pattern
	text   []byte // literal text so far
	last   int    // where its last character begins
	quoted bool   // between \Q and \E
}

// step reads one element of the pattern, adds it to the prefix if it is literal, and reports whether the prefix can
// continue.
func (p *prefixReader) step() bool {
	// The cases \E, \Q and comments match nothing; they may be between a character and its quantifier.
	switch {
	case strings.HasPrefix(p.rest, `\E`):
		p.quoted = false
		p.rest = p.rest[2:]
		return true
	case p.quoted:
		p.literal(0)
		return true
	case strings.HasPrefix(p.rest, `\Q`):
		p.quoted = true
		p.rest = p.rest[2:]
		return true
	case strings.HasPrefix(p.rest, "(?#"):
		p.rest = p.rest[strings.IndexByte(p.rest, ')')+1:]
		return true
	}
	switch c := p.rest[0]; {
	case c == '\\':
		if len(p.rest) < 2 || isAlphanumeric(p.rest[1]) {
			return false
		}
		p.literal(1)
	case c == '*' || c == '?' || c == '{':
		p.text = p.text[:p.last] // the last character is optional
		return false
	case strings.IndexByte("^$.[]()+}", c) >= 0:
		return false
	default:
		p.literal(0)
	}
	return true
}

// literal appends the character that begins skip bytes further on.
func (p *prefixReader) literal(skip int) {
	_, size := utf8.DecodeRuneInString(p.rest[skip:])
	p.last = len(p.text)
	p.text = append(p.text, p.rest[skip:skip+size]...)
	p.rest = p.rest[skip+size:]
}

// isAlphanumeric reports whether c is an ASCII letter or digit, which has a special meaning after a backslash.
func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
