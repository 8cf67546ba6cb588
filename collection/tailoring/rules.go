package tailoring

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Strengths of a relation, and of a node. A smaller number is a greater difference.
const (
	primary   = 1
	secondary = 2
	tertiary  = 3
	identical = 4
)

// rule is one step of a tailoring: a reset (&), a relation (<, <<, <<<, =), or a setting in brackets.
type rule struct {
	strength  int    // of a relation; 0 for a reset and a setting
	text      string // the anchor of a reset, the string of a relation
	extension string // of a relation: what follows /
	before    int    // of a reset: the strength in [before n], or 0
	setting   string // the text between brackets; for a reset such as "last tertiary ignorable"
	reset     bool
}

// reader parses rules.
type reader struct {
	rest  string
	rules []rule
}

// parseRules reads the rules of one locale. Errors name what is not supported: contexts (|) and quaternary relations.
func parseRules(text string) ([]rule, error) {
	r := &reader{rest: text}
	for r.skip(); r.rest != ""; r.skip() {
		if err := r.step(); err != nil {
			return nil, fmt.Errorf("%w before %.20q", err, r.rest)
		}
	}
	return r.rules, nil
}

// isSpace reports whether the syntax ignores c outside of quotes: white space and marks of direction.
func isSpace(c rune) bool {
	switch c {
	case ' ', '\t', '\n', '\r', 0x85, 0x200e, 0x200f, 0x2028, 0x2029:
		return true
	}
	return false
}

// isSyntax reports whether c ends a string unless it is quoted.
func isSyntax(c rune) bool {
	return c > ' ' && c < utf8.RuneSelf && !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
}

func (r *reader) skip() { r.rest = strings.TrimLeftFunc(r.rest, isSpace) }

// take reports whether the rest begins with prefix, and skips it.
func (r *reader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(r.rest, prefix)
	if ok {
		r.rest = rest
		r.skip()
	}
	return ok
}

// brackets reads the text up to the closing bracket, which may hold a set in brackets.
func (r *reader) brackets() (string, error) {
	depth := 1
	for i, c := range r.rest {
		switch c {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				inside := r.rest[:i]
				r.rest = r.rest[i+1:]
				r.skip()
				return inside, nil
			}
		}
	}
	return "", fmt.Errorf("no closing bracket")
}

func (r *reader) step() error {
	switch {
	case r.take("["):
		s, err := r.brackets()
		r.rules = append(r.rules, rule{setting: s})
		return err
	case r.take("&"):
		return r.resetTo()
	case r.take("<<<<"):
		return fmt.Errorf("a quaternary relation")
	case r.take("<<<"):
		return r.relation(tertiary)
	case r.take("<<"):
		return r.relation(secondary)
	case r.take("<"):
		return r.relation(primary)
	case r.take("="):
		return r.relation(identical)
	}
	return fmt.Errorf("no rule")
}

// resetTo reads what follows &.
func (r *reader) resetTo() error {
	next := rule{reset: true}
	for r.take("[") {
		s, err := r.brackets()
		if err != nil {
			return err
		}
		if _, err := fmt.Sscanf(s, "before %d", &next.before); err != nil {
			next.setting = s
		}
	}
	if next.setting == "" {
		if next.text = r.word(); next.text == "" {
			return fmt.Errorf("a reset without an anchor")
		}
	}
	r.rules = append(r.rules, next)
	return nil
}

// relation reads the string, or with * the list of characters, behind a relation sign.
func (r *reader) relation(strength int) error {
	if r.take("*") {
		return r.characters(strength)
	}
	next := rule{strength: strength, text: r.word()}
	if r.take("/") {
		next.extension = r.word()
	}
	if next.text == "" || strings.HasPrefix(r.rest, "|") {
		return fmt.Errorf("a relation without a string, or with a context")
	}
	r.rules = append(r.rules, next)
	return nil
}

// characters reads a list of characters, each of which is one relation; a-z is a range.
func (r *reader) characters(strength int) error {
	last := rune(-1)
	for {
		w := r.word()
		for _, c := range w {
			r.rules = append(r.rules, rule{strength: strength, text: string(c)})
			last = c
		}
		if !r.take("-") {
			return nil
		}
		behind := []rune(r.word()) // the end of the range, and single characters
		if last < 0 || len(behind) == 0 || behind[0] < last {
			return fmt.Errorf("a range that is empty")
		}
		for c := last + 1; c < behind[0]; c++ {
			r.rules = append(r.rules, rule{strength: strength, text: string(c)})
		}
		for _, c := range behind {
			r.rules = append(r.rules, rule{strength: strength, text: string(c)})
			last = c
		}
	}
}

// word reads a string up to the next sign of the syntax. Quotes and a backslash take signs into it.
func (r *reader) word() string {
	var w strings.Builder
	quoted := false
	for i, n := 0, 0; i < len(r.rest); i += n {
		var c rune
		c, n = utf8.DecodeRuneInString(r.rest[i:])
		switch {
		case c == '\'' && strings.HasPrefix(r.rest[i+1:], "'"):
			w.WriteByte('\'')
			n = 2
		case c == '\'':
			quoted = !quoted
		case quoted:
			w.WriteRune(c)
		case c == '\\':
			d, m := utf8.DecodeRuneInString(r.rest[i+1:])
			w.WriteRune(d)
			n += m
		case isSyntax(c):
			r.rest = r.rest[i:]
			return w.String()
		case !isSpace(c):
			w.WriteRune(c)
		}
	}
	r.rest = ""
	return w.String()
}
