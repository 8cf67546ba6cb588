package mql

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// shorthand returns the members of the character class that a letter denotes after a backslash, such as d for
// digits. ok is false for a letter without class. The letter as a capital denotes all other characters.
func (t *translator) shorthand(letter byte) (set string, ok bool) {
	switch {
	case letter == 'h':
		return horizontal, true
	case letter == 'v':
		return vertical, true
	case letter == 'd' && t.unicode:
		return unicodePosix["digit"], true
	case letter == 'w' && t.unicode:
		return unicodePosix["word"], true
	case letter == 's' && t.unicode:
		return unicodePosix["space"], true
	case letter == 'd':
		return "0-9", true
	case letter == 'w':
		return "0-9A-Za-z_", true
	case letter == 's':
		return asciiSpace, true
	}
	return "", false
}

// escape translates a backslash sequence outside of brackets.
func (t *translator) escape() string {
	rest := t.in[t.pos+1:]
	if rest == "" {
		return `\ at end of pattern`
	}
	t.atom = t.slow.Len()
	t.pos += 2
	c := rest[0]
	if set, ok := t.shorthand(c); ok {
		t.class("[", set)
		return ""
	}
	if set, ok := t.shorthand(c | 0x20); ok { // the capital of such a letter
		t.class("[^", set)
		return ""
	}
	switch c {
	case 'b', 'B', 'A', 'z', 'Z', 'G':
		t.anchor(c)
	case 'N':
		t.fast.WriteString(`[^\n]`)
		t.slow.WriteString(noNewline)
	case 'R':
		t.both(`(?:\r\n|`)
		t.class("[", vertical)
		t.both(")")
	case 'X':
		t.needsSlow = true
		t.slow.WriteString(`(?>\P{M}\p{M}*)`)
	case 'Q':
		t.quoted(rest[1:])
	case 'E':
	case 'k', 'g':
		return t.reference(c, rest)
	case 'p', 'P':
		return t.property(rest)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return t.numbered(rest)
	default:
		r, size, err := char(rest)
		if err != "" {
			return err
		}
		t.pos += size - 1
		t.literal(r)
	}
	return ""
}

// anchor translates an escape that matches a position and no character.
func (t *translator) anchor(c byte) {
	// The backtracking engine's \b treats letters beyond ASCII as parts of words. PCRE's \b does so only after
	// (*UCP), that of the linear engine never.
	set, _ := t.shorthand('w')
	word := "[" + set + "]"
	t.needsSlow = t.needsSlow || t.unicode && (c == 'b' || c == 'B')
	switch c {
	case 'A', 'z':
		t.both(`\` + string(c))
	case 'b':
		t.fast.WriteString(`\b`)
		t.slow.WriteString(`(?:(?<=` + word + `)(?!` + word + `)|(?<!` + word + `)(?=` + word + `))`)
	case 'B':
		t.fast.WriteString(`\B`)
		t.slow.WriteString(`(?:(?<=` + word + `)(?=` + word + `)|(?<!` + word + `)(?!` + word + `))`)
	case 'Z':
		t.dollar = true
		t.fast.WriteString(`\z`)
		t.slow.WriteString(`\Z`)
	case 'G':
		t.needsSlow = true
		t.slow.WriteString(`\G`)
	}
}

// quoted translates the text between \Q and \E, or the end.
func (t *translator) quoted(rest string) {
	text, _, found := strings.Cut(rest, `\E`)
	for _, r := range text {
		t.atom = t.slow.Len()
		t.literal(r)
	}
	t.pos += len(text)
	if found {
		t.pos += 2
	}
}

// numbered translates a backslash with a number: a character by its octal number, if the number exceeds 9 and the
// count of "(" in the pattern and begins with an octal digit, or overflows; else a reference to a group. It returns a
// description of the error, "" if there is none.
func (t *translator) numbered(rest string) string {
	i := 1
	for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(rest[:i])
	groups := strings.Count(t.in, "(")
	if n > 9 && n > groups && rest[0] < '8' || err != nil {
		return t.octal(rest)
	}
	if n > groups {
		return "reference to non-existent subpattern"
	}
	t.needsSlow = true
	t.pos += i - 1
	t.slow.WriteString(`(?:\` + rest[:i] + `)`)
	return ""
}

// octal translates \ddd.
func (t *translator) octal(rest string) string {
	i := 0
	for i < 3 && i < len(rest) && rest[i] >= '0' && rest[i] <= '7' {
		i++
	}
	n, _ := strconv.ParseUint(rest[:i], 8, 32)
	t.pos += i - 1
	t.literal(rune(n))
	return ""
}

// reference translates \k<name>, \k{name}, \k'name', \g{n}, \gn and \g{-n}.
func (t *translator) reference(c byte, rest string) string {
	name, size := "", 0
	if len(rest) > 1 {
		if i := strings.IndexByte("<{'", rest[1]); i >= 0 {
			if j := strings.IndexByte(rest[2:], ">}'"[i]); j >= 0 {
				name, size = rest[2:2+j], j+2
			}
		} else if c == 'g' {
			i := 1
			for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || i == 1 && rest[i] == '-') {
				i++
			}
			name, size = rest[1:i], i-1
		}
	}
	n, err := strconv.Atoi(name)
	switch {
	case err == nil && c == 'g':
		if n < 0 {
			n += strings.Count(t.in[:t.pos], "(") - strings.Count(t.in[:t.pos], "(?") + 1
		}
		if n <= 0 {
			return "reference to non-existent subpattern"
		}
		name = strconv.Itoa(n)
	case !validName(name):
		return `\k is not followed by a braced, angle-bracketed, or quoted name`
	}
	t.needsSlow = true
	t.pos += size
	t.slow.WriteString(`\k<` + name + `>`)
	return ""
}

// property translates \pL, \p{Greek}, \P{Lu} and \p{^Lu}.
func (t *translator) property(rest string) string {
	out, size := propertyOf(rest)
	if size == 0 {
		return `malformed \P or \p sequence`
	}
	t.set(out)
	t.pos += size - 1
	return ""
}

func propertyOf(rest string) (out string, size int) {
	if len(rest) < 2 {
		return "", 0
	}
	c, name, size := rest[0], rest[1:2], 2
	if name == "{" {
		i := strings.IndexByte(rest, '}')
		if i < 0 {
			return "", 0
		}
		name, size = rest[2:i], i+1
	}
	if n, negated := strings.CutPrefix(name, "^"); negated {
		name = n
		c ^= 'p' ^ 'P'
	}
	if name == "Any" {
		if c == 'p' {
			return `[\x00-\x{10FFFF}]`, size
		}
	}
	if set, ok := sets[name]; ok {
		if c == 'P' {
			return "[^" + set + "]", size
		}
		return "[" + set + "]", size
	}
	return `\` + string(c) + `{` + name + `}`, size
}

// sets are the Unicode properties that only PCRE defines, each as members of a character class for the engines.
var sets = map[string]string{"L&": `\p{Lu}\p{Ll}\p{Lt}`, "Xan": `\p{L}\p{N}`, "Xwd": `\p{L}\p{N}_`, "Xsp": `\t\n\x0b\f\r\x85\p{Z}`, "Xps": `\t\n\x0b\f\r\x85\p{Z}`}

// char reads an escape that denotes one character, from rest, the pattern after the backslash. It returns the
// character and the number of bytes of rest that the escape takes; err describes an error, "" if there is none.
func char(rest string) (r rune, size int, err string) {
	switch c := rest[0]; c {
	case 'a':
		return 7, 1, ""
	case 'e':
		return 27, 1, ""
	case 'f':
		return '\f', 1, ""
	case 'n':
		return '\n', 1, ""
	case 'r':
		return '\r', 1, ""
	case 't':
		return '\t', 1, ""
	case 'c':
		if len(rest) < 2 || rest[1] >= utf8.RuneSelf {
			return 0, 0, `\c at end of pattern`
		}
		d := rest[1]
		if d >= 'a' && d <= 'z' {
			d -= 'a' - 'A'
		}
		return rune(d ^ 0x40), 2, ""
	case 'o':
		i := strings.IndexByte(rest, '}')
		if i < 3 || rest[1] != '{' {
			return 0, 0, `missing opening brace after \o`
		}
		n, e := strconv.ParseUint(rest[2:i], 8, 32)
		if e != nil || n > utf8.MaxRune {
			return 0, 0, "character code point value in \\o{} is too large"
		}
		return rune(n), i + 1, ""
	case 'x':
		if len(rest) > 1 && rest[1] == '{' {
			i := strings.IndexByte(rest, '}')
			if i < 0 {
				return 0, 0, `missing terminating } for hexadecimal code`
			}
			n, e := strconv.ParseUint(rest[2:i], 16, 32)
			if e != nil || n > utf8.MaxRune {
				return 0, 0, "character code point value in \\x{} is too large"
			}
			return rune(n), i + 1, ""
		}
		i := 1
		for i < 3 && i < len(rest) && strings.IndexByte("0123456789abcdefABCDEF", rest[i]) >= 0 {
			i++
		}
		n, _ := strconv.ParseUint(rest[1:i], 16, 32)
		return rune(n), i, ""
	case '0', '1', '2', '3', '4', '5', '6', '7':
		i := 0
		for i < 3 && i < len(rest) && rest[i] >= '0' && rest[i] <= '7' {
			i++
		}
		n, _ := strconv.ParseUint(rest[:i], 8, 32)
		return rune(n), i, ""
	default:
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return 0, 0, `unrecognized character follows \`
		}
		r, n := utf8.DecodeRuneInString(rest)
		return r, n, ""
	}
}

// bracket translates a character class.
func (t *translator) bracket() string {
	t.pos++
	t.both("[")
	if t.peek("^") {
		t.both("^")
		t.slow.WriteString(neverOccurs)
		t.pos++
	}
	for first := true; ; first = false {
		if t.pos >= len(t.in) {
			return "missing terminating ] for character class"
		}
		rest := t.in[t.pos:]
		switch c := rest[0]; {
		case c == ']' && !first:
			t.pos++
			t.both("]")
			return ""
		case strings.HasPrefix(rest, "[:"):
			i := posixEnd(rest)
			if i < 0 {
				t.pos++
				t.member('[')
				continue
			}
			name, negated := strings.CutPrefix(rest[2:i], "^")
			if t.unicode && !sameInUnicode(name) {
				set, ok := unicodePosix[name]
				if !ok || negated {
					return "the class [:" + rest[2:i] + ":] is not supported behind (*UCP)"
				}
				t.set(set)
				t.pos += i + 2
				continue
			}
			known := false
			for _, p := range posix {
				if p.name == name {
					known = true
					if negated {
						t.fast.WriteString("[:^" + name + ":]")
						t.slow.WriteString(complement(p.set))
					} else {
						t.set(p.set)
					}
				}
			}
			if !known {
				return "unknown POSIX class name"
			}
			t.pos += i + 2
		case c == '\\':
			if err := t.bracketEscape(rest[1:]); err != "" {
				return err
			}
		case c == '-' && first:
			t.pos++
			t.member('-')
		case c == '-':
			// The - makes a range if it is between two members of the class; both engines agree with PCRE where it
			// is literal.
			t.both("-")
			t.pos++
		default:
			r, size := utf8.DecodeRuneInString(rest)
			t.pos += size
			t.member(r)
		}
	}
}

// posixEnd returns the index of the ":]" that ends a POSIX class name such as "[:alpha:]", with which rest begins.
// It returns -1 if there is none; then the bracket is an ordinary member. A name contains no "]".
func posixEnd(rest string) int {
	end := strings.IndexByte(rest, ']') - 1
	if end < len("[:") || rest[end] != ':' || strings.Contains(rest[len("[:"):end], "[:") {
		return -1
	}
	return end
}

// member appends a character to a class.
func (t *translator) member(r rune) {
	if r < utf8.RuneSelf && strings.IndexByte(`\]^-[&~`, byte(r)) >= 0 {
		t.both(`\` + string(r))
		return
	}
	if r < 0x20 || r == 0x7f {
		t.literal(r)
		return
	}
	t.both(string(r))
}

func (t *translator) bracketEscape(rest string) string {
	if rest == "" {
		return `\ at end of pattern`
	}
	t.pos += 2
	if set, ok := t.shorthand(rest[0]); ok {
		t.set(set)
		return ""
	}
	if t.unicode && strings.IndexByte("DWS", rest[0]) >= 0 {
		return `\` + rest[:1] + " within brackets is not supported behind (*UCP)"
	}
	switch rest[0] {
	case 'D':
		t.set(`\x00-/:-\x{10FFFF}`)
	case 'W':
		t.set("\\x00-/:-@\\[-^`{-\\x{10FFFF}")
	case 'S':
		t.set(`\x00-\x08\x0e-\x1f!-\x{10FFFF}`)
	case 'b':
		t.member('\b')
	case 'Q', 'E':
		if rest[0] == 'Q' {
			text, _, found := strings.Cut(rest[1:], `\E`)
			for _, r := range text {
				t.member(r)
			}
			t.pos += len(text)
			if found {
				t.pos += 2
			}
		}
	case 'p', 'P':
		out, size := propertyOf(rest)
		if size == 0 || strings.HasPrefix(out, "[^") {
			return `malformed \P or \p sequence`
		}
		t.set(strings.Trim(out, "[]")) // inside brackets, so without its own brackets
		t.pos += size - 1
	default:
		r, size, err := char(rest)
		if err != "" {
			return err
		}
		t.pos += size - 1
		t.member(r)
	}
	return ""
}

// complement returns the characters that are not in the class set, whose members are ASCII, for engines without
// negated POSIX classes inside brackets.
func complement(set string) string {
	var in [128]bool
	rs := []rune(unescape(set))
	for i := 0; i < len(rs); i++ {
		lo, hi := rs[i], rs[i]
		if i+2 < len(rs) && rs[i+1] == '-' {
			hi = rs[i+2]
			i += 2
		}
		for r := lo; r <= hi && r < 128; r++ {
			in[r] = true
		}
	}
	var b strings.Builder
	for r := 0; r < 128; r++ {
		if !in[r] {
			b.WriteString(`\x` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		}
	}
	return b.String() + "\u0080-\U0010FFFF"
}

// unescape resolves the few escapes of the sets above.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'x':
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
