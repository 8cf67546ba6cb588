package regex

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape reads an element that begins with a backslash, outside of brackets.
func (p *parser) escape() *node {
	p.pos++
	if p.pos >= len(p.in) {
		fail(`\ at end of pattern`)
	}
	c := p.in[p.pos]
	if set := p.shorthand(c); set != nil {
		p.pos++
		return &node{kind: kindClass, class: set.finish()}
	}
	switch c {
	case 'b', 'B', 'A', 'z', 'Z', 'G', 'K', 'N', 'R', 'X':
		p.pos++
		return p.special(c)
	case 'k':
		p.pos++
		return p.nameReference()
	case 'g':
		p.pos++
		return p.anyReference()
	case 'C':
		fail(`\C is not supported: it may end within a character`)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if n := p.digitReference(); n != nil {
			return n
		}
	}
	return p.char(p.escaped())
}

// special reads an escape that is no character and no class, of the letter c.
func (p *parser) special(c byte) *node {
	switch c {
	case 'A':
		return &node{kind: kindStart}
	case 'z':
		return &node{kind: kindEnd}
	case 'Z':
		return &node{kind: kindEndLine}
	case 'G':
		return &node{kind: kindFrom}
	case 'X':
		return &node{kind: kindGrapheme}
	case 'K':
		if p.looks > 0 {
			fail(`\K is not allowed in lookarounds (but see PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK)`)
		}
		return &node{kind: kindKeep}
	case 'R':
		pair := &node{kind: kindConcat, sub: []*node{{kind: kindChar, r: '\r'}, {kind: kindChar, r: '\n'}}}
		one := &class{}
		one.addPairs(verticals...)
		if p.anyCR {
			one = &class{ranges: []rune{'\n', '\n', '\r', '\r'}}
		}
		return &node{kind: kindAtomic, sub: []*node{{kind: kindAlt, sub: []*node{pair, {kind: kindClass, class: one.finish()}}}}}
	case 'N':
		if p.peek("{U+") {
			return p.char(p.hexBraces("U+"))
		}
		if p.peek("{") {
			if _, _, size := p.braces(); size == 0 {
				fail(`PCRE2 does not support \F, \L, \l, \N{name}, \U, or \u`)
			}
		}
		return p.dot(false)
	}
	words := &class{}
	words.addClass("word", false, p.ucp)
	kind := kindWord
	if c == 'B' {
		kind = kindNotWord
	}
	return &node{kind: kind, class: words.finish()}
}

// shorthand returns the class of a letter such as d, nil if it has none.
func (p *parser) shorthand(c byte) *class {
	set := &class{negative: c < 'a'}
	switch c | 0x20 {
	case 'd':
		set.addClass("digit", false, p.ucp)
	case 'w':
		set.addClass("word", false, p.ucp)
	case 's':
		set.addClass("space", false, p.ucp)
	case 'h':
		set.addPairs(horizontals...)
	case 'v':
		set.addPairs(verticals...)
	case 'p':
		set.negative = false
		name, negative := p.property()
		p.pos-- // the caller passes one more
		if !set.addProperty(name, negative) {
			fail(`unknown property after \P or \p`)
		}
	default:
		return nil
	}
	return set
}

// property reads the name of a property, from the letter of \p or \P on.
func (p *parser) property() (name string, negative bool) {
	negative = p.in[p.pos] == 'P'
	p.pos++
	if p.pos >= len(p.in) {
		fail(`malformed \P or \p sequence`)
	}
	if !p.peek("{") {
		r := p.next()
		if r >= utf8.RuneSelf || !unicode.IsLetter(r) {
			fail(`malformed \P or \p sequence`)
		}
		return string(r), negative
	}
	end := strings.IndexByte(p.in[p.pos:], '}')
	if end < 0 {
		fail(`malformed \P or \p sequence`)
	}
	name = strings.TrimSpace(p.in[p.pos+1 : p.pos+end])
	p.pos += end + 1
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, negative = rest, !negative
	}
	return name, negative
}

// nameReference reads the name behind \k.
func (p *parser) nameReference() *node {
	if p.pos < len(p.in) {
		if i := strings.IndexByte("<{'", p.in[p.pos]); i >= 0 {
			p.pos++
			return p.reference(p.name(">}'"[i]))
		}
	}
	fail(`\k is not followed by a braced, angle-bracketed, or quoted name`)
	return nil
}

// anyReference reads the part of an escape behind \g: a reference, or behind < or ' a call.
func (p *parser) anyReference() *node {
	const bad = `\g is not followed by a braced, angle-bracketed, or quoted name/number or by a plain number`
	if p.pos >= len(p.in) {
		fail(bad)
	}
	i := strings.IndexByte("<'{", p.in[p.pos])
	if i < 0 {
		end := p.pos
		for end < len(p.in) && (p.in[end] >= '0' && p.in[end] <= '9' || end == p.pos && (p.in[end] == '-' || p.in[end] == '+')) {
			end++
		}
		text := p.in[p.pos:end]
		if !isNumber(strings.TrimLeft(text, "+-")) {
			fail(bad)
		}
		p.pos = end
		return p.referenceNumber(p.positive(text))
	}
	end := strings.IndexByte(p.in[p.pos+1:], ">'}"[i])
	if end < 0 {
		fail(bad)
	}
	text := p.in[p.pos+1 : p.pos+1+end]
	if text != "" && isNumber(strings.TrimLeft(text[:1], "+-")+text[1:]) {
		p.pos += end + 2
		if i < 2 {
			return p.call(p.absolute(text))
		}
		return p.referenceNumber(p.positive(text))
	}
	p.pos++
	name := p.name(">'}"[i])
	if i < 2 {
		return p.callName(name)
	}
	return p.reference(name)
}

func (p *parser) positive(text string) int {
	n := p.absolute(text)
	if n == 0 {
		fail("reference to non-existent subpattern")
	}
	return n
}

// digitReference reads a reference such as \1. It returns nil if the digits are a character in octal form: they are one
// if the number exceeds 9, begins with an octal digit, and is larger than the number of groups before it.
func (p *parser) digitReference() *node {
	end := p.pos
	for end < len(p.in) && p.in[end] >= '0' && p.in[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(p.in[p.pos:end])
	if (err != nil || n > 9 && n > p.groups) && p.in[p.pos] < '8' {
		return nil
	}
	if err != nil || n > groupsMax {
		fail("reference to non-existent subpattern")
	}
	p.pos = end
	return p.referenceNumber(n)
}

// escaped reads an escape that denotes one character, without the backslash.
func (p *parser) escaped() rune {
	c := p.in[p.pos]
	switch c {
	case 'a':
		p.pos++
		return 7
	case 'e':
		p.pos++
		return 27
	case 'f':
		p.pos++
		return '\f'
	case 'n':
		p.pos++
		return '\n'
	case 'r':
		p.pos++
		return '\r'
	case 't':
		p.pos++
		return '\t'
	case 'c':
		return p.control()
	case 'o':
		p.pos++
		if !p.peek("{") {
			fail(`missing opening brace after \o`)
		}
		return p.braced("", 8, `non-octal character in \o{} (closing brace missing?)`)
	case 'x':
		p.pos++
		if p.peek("{") {
			return p.hexBraces("")
		}
		return p.upTo(2, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return p.upTo(3, 8)
	case 'F', 'L', 'l', 'U', 'u':
		fail(`PCRE2 does not support \F, \L, \l, \N{name}, \U, or \u`)
	}
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		fail(`unrecognized character follows \`)
	}
	return p.next()
}

// control reads the character behind \c, with the letter.
func (p *parser) control() rune {
	p.pos++
	if p.pos >= len(p.in) {
		fail(`\c at end of pattern`)
	}
	d := p.in[p.pos]
	if d < ' ' || d > '~' {
		fail(`\c must be followed by a printable ASCII character`)
	}
	p.pos++
	if d >= 'a' && d <= 'z' {
		d -= 'a' - 'A'
	}
	return rune(d ^ 0x40)
}

// upTo reads up to most digits of a base.
func (p *parser) upTo(most, base int) rune {
	end := p.pos
	for end < len(p.in) && end-p.pos < most {
		if _, err := strconv.ParseUint(p.in[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	n, _ := strconv.ParseUint(p.in[p.pos:end], base, 32)
	p.pos = end
	return rune(n)
}

func (p *parser) hexBraces(prefix string) rune {
	return p.braced(prefix, 16, `non-hex character in \x{} (closing brace missing?)`)
}

// braced reads {digits}, with prefix before the digits.
func (p *parser) braced(prefix string, base int, bad string) rune {
	p.pos += 1 + len(prefix)
	end := strings.IndexByte(p.in[p.pos:], '}')
	if end < 0 {
		fail(bad)
	}
	text := p.in[p.pos : p.pos+end]
	p.pos += end + 1
	if text == "" {
		fail(`digits missing in \x{} or \o{} or \N{U+}`)
	}
	for i := range len(text) {
		if _, err := strconv.ParseUint(text[i:i+1], base, 8); err != nil {
			fail(bad)
		}
	}
	n, err := strconv.ParseUint(text, base, 32)
	switch {
	case err != nil || n > utf8.MaxRune:
		fail(`character code point value in \x{} or \o{} is too large`)
	case n >= 0xd800 && n <= 0xdfff:
		fail("disallowed Unicode code point (>= 0xd800 && <= 0xdfff)")
	}
	return rune(n)
}
