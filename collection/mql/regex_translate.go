package mql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// translator rewrites a PCRE pattern for the two engines of Regex: fast is the pattern in RE2 syntax for the linear
// engine, slow in that of the backtracking engine. It reads the pattern once and leaves full syntax checking to the
// engines.
type translator struct {
	in                                string
	pos                               int
	fast, slow                        strings.Builder
	fold, multiline, dotAll, extended bool
	needsSlow                         bool
	dollar                            bool  // a `$` or \Z outside multi-line mode
	atom                              int   // where the last atom begins in slow; -1 if none
	starts                            []int // where open groups begin in slow
	modes                             []modes
	newline                           *newline // nil for \n
	unicode                           bool     // (*UCP): \w, \d, \s, \b and POSIX classes use Unicode properties
}

// modes are the options that flags such as (?m) change, until the end of the group that contains the flags.
type modes struct{ multiline, extended, dotAll bool }

// newline holds a verb such as (*CRLF) at the beginning of a pattern, and the line ends and the dot that it selects.
type newline struct{ verb, ends, dot string }

// newlines are the verbs that select a newline, each with patterns of the end of a line and of what a dot matches.
var newlines = [...]newline{
	{"(*CRLF)", `\r\n`, `(?:(?!\r\n)[\s\S])`}, {"(*CR)", `\r`, `[^\r` + neverOccurs + `]`}, {"(*ANYCRLF)", `(?:\r\n|\r|\n)`, `[^\r\n]`},
	{"(*ANY)", "(?:\\r\\n|[\\n\\x0b\\f\\r\u0085\u2028\u2029])", "[^\\n\\x0b\\f\\r\u0085\u2028\u2029]"},
}

// verbs reads the verbs at the beginning of a pattern: (*UTF8) and the like, which have no effect here, (*UCP) and
// those of newlines. It leaves all others, and step refuses them.
func (t *translator) verbs() {
	for strings.HasPrefix(t.in, "(*") {
		end := strings.IndexByte(t.in, ')') + 1
		switch verb := t.in[:end]; verb {
		case "(*UTF8)", "(*UTF)", "(*NO_START_OPT)", "(*NO_AUTO_POSSESS)", "(*NO_DOTSTAR_ANCHOR)", "(*NO_JIT)", "(*BSR_UNICODE)":
		case "(*UCP)":
			t.unicode = true
		case "(*LF)":
			t.newline = nil
		default:
			i := slices.IndexFunc(newlines[:], func(n newline) bool { return n.verb == verb })
			if i < 0 {
				return
			}
			t.newline, t.needsSlow = &newlines[i], true
		}
		t.in = t.in[end:]
	}
	t.needsSlow = t.newline != nil
}

// line returns the pattern that replaces c, one of ^, $ and the dot, if a verb selected a newline other than \n.
func (t *translator) line(c rune) string {
	switch {
	case c == '.' && t.dotAll:
		return `[\s\S]`
	case c == '.':
		return t.newline.dot
	case c == '$' && t.multiline:
		return `(?=` + t.newline.ends + `|\z)`
	case c == '$':
		return `(?=(?:` + t.newline.ends + `)?\z)`
	case t.multiline:
		return `(?:\A|(?<=` + t.newline.ends + `)(?!\z))`
	}
	return `\A`
}

// neverOccurs is a member of the negated classes in the pattern of the backtracking engine, a surrogate, which no decoded
// text contains. If a class excludes a single character, the engine may drop the first characters of other alternatives
// from its search for a match: "b|.k" does not match "b". Source: regexp2 2.5.2, tryFindFirstCharClass.
const neverOccurs = `\ud800`

// noNewline is the dot in the pattern of the backtracking engine.
const noNewline = `[^\n` + neverOccurs + `]`

const (
	asciiSpace = `\t\n\x0b\f\r `
	horizontal = `\t \x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}`
	vertical   = `\n\x0b\f\r\x{85}\x{2028}\x{2029}`
)

// posix are the ranges of the POSIX classes.
var posix = [...]struct{ name, set string }{
	{"alnum", "0-9A-Za-z"}, {"alpha", "A-Za-z"}, {"ascii", `\x00-\x7f`}, {"blank", `\t `},
	{"cntrl", `\x00-\x1f\x7f`}, {"digit", "0-9"}, {"graph", "!-~"}, {"lower", "a-z"}, {"print", " -~"},
	{"punct", "!-/:-@\\[-`{-~"}, {"space", asciiSpace}, {"upper", "A-Z"}, {"word", "0-9A-Za-z_"}, {"xdigit", "0-9A-Fa-f"},
}

// unicodePosix are the POSIX classes behind (*UCP).
var unicodePosix = map[string]string{
	"alnum": `\p{L}\p{N}`, "alpha": `\p{L}`, "blank": horizontal, "cntrl": `\p{Cc}`, "digit": `\p{Nd}`, "lower": `\p{Ll}`,
	"space": `\p{Z}` + horizontal + vertical, "upper": `\p{Lu}`, "word": `\p{L}\p{N}_`,
}

// sameInUnicode reports whether the POSIX class of this name has the same members after (*UCP). It also returns true
// for a name that is no class.
func sameInUnicode(name string) bool {
	return name == "ascii" || name == "xdigit" || !slices.ContainsFunc(posix[:], func(p struct{ name, set string }) bool { return p.name == name })
}

// both appends to both outputs.
func (t *translator) both(s string) { t.fast.WriteString(s); t.slow.WriteString(s) }

// set appends s, members of a character class in brackets, to the patterns of both engines.
func (t *translator) set(s string) { t.fast.WriteString(s); t.slow.WriteString(hexEscapes(s)) }

// class appends a whole character class.
func (t *translator) class(open, s string) { t.both(open); t.set(s); t.both("]") }

// hexEscapes replaces \x{…}, which the backtracking engine does not support.
func hexEscapes(s string) string {
	for {
		i := strings.Index(s, `\x{`)
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], '}')
		n, _ := strconv.ParseUint(s[i+3:i+j], 16, 32)
		s = s[:i] + string(rune(n)) + s[i+j+1:]
	}
}

// literal appends one literal character.
func (t *translator) literal(r rune) {
	if r < utf8.RuneSelf && strings.IndexByte(`\.+*?()|[]{}^$#-&~ `, byte(r)) >= 0 {
		if strings.IndexByte(`-&~ #`, byte(r)) < 0 {
			t.both(`\`)
		}
		t.both(string(r))
		return
	}
	if r < 0x20 || r == 0x7f {
		t.both(fmt.Sprintf(`\x%02x`, r))
		return
	}
	t.both(string(r))
}

// run translates the pattern for both engines and returns a description of its error, "" if there is none.
func (t *translator) run() string {
	t.atom = -1
	t.verbs()
	for t.pos < len(t.in) {
		if err := t.step(); err != "" {
			return err
		}
	}
	if len(t.starts) > 0 {
		return "missing closing parenthesis"
	}
	return ""
}

func (t *translator) peek(s string) bool { return strings.HasPrefix(t.in[t.pos:], s) }

// step translates one element.
func (t *translator) step() string {
	r, size := utf8.DecodeRuneInString(t.in[t.pos:])
	start := t.slow.Len()
	if t.newline != nil && (r == '^' || r == '$' || r == '.') {
		t.atom = start
		t.slow.WriteString(t.line(r))
		t.pos += size
		return ""
	}
	switch r {
	case '\\':
		return t.escape()
	case '[':
		t.atom = start
		return t.bracket()
	case '(':
		return t.open()
	case ')':
		if len(t.starts) == 0 {
			return "unmatched closing parenthesis"
		}
		n := len(t.starts) - 1
		t.atom = t.starts[n]
		t.multiline, t.extended, t.dotAll = t.modes[n].multiline, t.modes[n].extended, t.modes[n].dotAll
		t.starts, t.modes = t.starts[:n], t.modes[:n]
		t.both(")")
	case '*', '+', '?', '{':
		return t.quantifier()
	case '$':
		if t.multiline {
			t.both("$")
		} else {
			t.dollar = true
			t.fast.WriteString(`\z`)
			t.slow.WriteString(`$`)
		}
		t.atom = start
	case '^', '|':
		t.atom = start
		if r == '|' {
			t.atom = -1
		}
		t.both(string(r))
	case '.':
		t.atom = start
		t.fast.WriteString(".")
		if t.dotAll {
			t.slow.WriteString(".")
		} else {
			t.slow.WriteString(noNewline)
		}
	default:
		if t.extended {
			if strings.ContainsRune(" \t\n\v\f\r", r) {
				t.pos += size
				return ""
			}
			if r == '#' {
				if i := strings.IndexByte(t.in[t.pos:], '\n'); i >= 0 {
					t.pos += i + 1
				} else {
					t.pos = len(t.in)
				}
				return ""
			}
		}
		t.atom = start
		t.literal(r)
	}
	t.pos += size
	return ""
}

// quantifier translates a quantifier for both engines: *, +, ?, {n,m} and their lazy and possessive forms.
func (t *translator) quantifier() string {
	rest := t.in[t.pos:]
	n := 1
	if rest[0] == '{' {
		i := 1
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == ',') {
			i++
		}
		if i == len(rest) || rest[i] != '}' || i == 1 || rest[1] == ',' || strings.Count(rest[:i], ",") > 1 {
			t.atom = t.slow.Len()
			t.both(`\{`)
			t.pos++
			return ""
		}
		n = i + 1
		low, high, ranged := strings.Cut(rest[1:i], ",")
		a, err := strconv.Atoi(low)
		b := a
		var err2 error
		if ranged && high != "" {
			b, err2 = strconv.Atoi(high)
		}
		switch {
		case err != nil || err2 != nil || a > 65535 || b > 65535:
			return "number too big in {} quantifier"
		case b < a:
			return "numbers out of order in {} quantifier"
		case a > 1000 || b > 1000:
			t.needsSlow = true // RE2's limit is 1000
		}
	}
	if t.atom < 0 {
		return "quantifier does not follow a repeatable item"
	}
	q := rest[:n]
	t.pos += n
	switch {
	case t.peek("?"):
		t.both(q + "?")
		t.pos++
	case t.peek("+"):
		t.needsSlow = true
		s := t.slow.String()
		t.slow.Reset()
		t.slow.WriteString(s[:t.atom] + "(?>" + s[t.atom:] + q + ")")
		t.pos++
	default:
		t.both(q)
	}
	t.atom = -1
	return ""
}

// open translates an element that begins with an opening parenthesis.
func (t *translator) open() string {
	push := func(size int, text string) {
		t.starts = append(t.starts, t.slow.Len())
		t.modes = append(t.modes, modes{t.multiline, t.extended, t.dotAll})
		t.atom = -1
		t.pos += size
		t.both(text)
	}
	rest := t.in[t.pos:]
	switch {
	case strings.HasPrefix(rest, "(?#"):
		i := strings.IndexByte(rest, ')')
		if i < 0 {
			return "missing ) after (?# comment"
		}
		t.pos += i + 1
	case strings.HasPrefix(rest, "(?:"):
		push(3, "(?:")
	case strings.HasPrefix(rest, "(?|"):
		return "duplicate group numbers are not supported"
	case strings.HasPrefix(rest, "(?="), strings.HasPrefix(rest, "(?!"), strings.HasPrefix(rest, "(?>"):
		t.needsSlow = true
		push(3, rest[:3])
	case strings.HasPrefix(rest, "(?<="), strings.HasPrefix(rest, "(?<!"):
		t.needsSlow = true
		if unboundedLookbehind(rest) {
			return "lookbehind assertion is not fixed length"
		}
		push(4, rest[:4])
	case strings.HasPrefix(rest, "(?P<"), strings.HasPrefix(rest, "(?<"), strings.HasPrefix(rest, "(?'"):
		i := strings.IndexAny(rest, "<'")
		end := byte('>')
		if rest[i] == '\'' {
			end = '\''
		}
		j := strings.IndexByte(rest[i+1:], end)
		if j < 0 {
			return "syntax error in subpattern name (missing terminator?)"
		}
		name := rest[i+1 : i+1+j]
		if !validName(name) {
			return "subpattern name expected"
		}
		push(i+j+2, "(?<"+name+">")
	case strings.HasPrefix(rest, "(?P="):
		j := strings.IndexByte(rest, ')')
		if j < 0 || !validName(rest[4:j]) {
			return "subpattern name expected"
		}
		t.needsSlow = true
		t.atom = t.slow.Len()
		t.slow.WriteString(`\k<` + rest[4:j] + `>`)
		t.pos += j + 1
	case strings.HasPrefix(rest, "(?(") && len(rest) > 3 && rest[3] != '?' && rest[3] != 'R':
		j := strings.IndexByte(rest, ')')
		if j < 0 {
			return "missing closing parenthesis for condition"
		}
		t.needsSlow = true
		push(j+1, "(?("+strings.Trim(rest[3:j], "<>'")+")")
	case strings.HasPrefix(rest, "(?"):
		return t.inlineFlags(push)
	case strings.HasPrefix(rest, "(*"):
		verb, _, _ := strings.Cut(rest, ")")
		return "(*VERB) not recognized or malformed, or not supported: " + verb + ")"
	default:
		push(1, "(")
	}
	return ""
}

// inlineFlags translates (?ims-x) and (?ims-x:…).
func (t *translator) inlineFlags(push func(int, string)) string {
	rest := t.in[t.pos:]
	set := true
	m := modes{t.multiline, t.extended, t.dotAll}
	on, off := "", ""
	for i := 2; i < len(rest); i++ {
		switch c := rest[i]; c {
		case '-':
			set = false
		case 'i', 's':
			if c == 's' {
				m.dotAll = set
			}
			if set {
				on += string(c)
			} else {
				off += string(c)
			}
		case 'm':
			m.multiline = set
			if set {
				on += "m"
			} else {
				off += "m"
			}
		case 'x':
			m.extended = set
		case ')', ':':
			flags := on
			if off != "" {
				flags += "-" + off
			}
			if c == ':' {
				push(i+1, "(?"+flags+":")
			} else {
				if flags != "" {
					t.both("(?" + flags + ")")
				}
				t.pos += i + 1
				t.atom = -1
			}
			t.multiline, t.extended, t.dotAll = m.multiline, m.extended, m.dotAll
			return ""
		default:
			return "unrecognized character after (? or (?-"
		}
	}
	return "unrecognized character after (? or (?-"
}

func validName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

// unboundedLookbehind reports whether a look-behind contains one of the quantifiers *, +, ?, {n,} and {n,m}.
func unboundedLookbehind(s string) bool {
	depth, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return false
			}
		case (c == '*' || c == '+' || c == '?') && i > 0 && s[i-1] != '(':
			return true
		case c == '{':
			if j := strings.IndexByte(s[i:], '}'); j > 0 && strings.IndexByte(s[i:i+j], ',') > 0 {
				return true
			}
		}
	}
	return false
}
