package regex

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escape reads an escape outside of brackets, behind its backslash.
func (p *scriptParser) escape() *node {
	if p.pos >= len(p.in) {
		fail(`\ at end of pattern`)
	}
	c := p.in[p.pos]
	switch {
	case c == 'b' || c == 'B':
		p.pos++
		words := p.words(&class{})
		if c == 'b' {
			return &node{kind: kindWord, class: words.finish()}
		}
		return &node{kind: kindNotWord, class: words.finish()}
	case c == 'k' && (p.named || p.flags.Unicode):
		p.pos++
		if !p.take("<") {
			fail("invalid named reference")
		}
		name := p.name()
		n := &node{kind: kindRef, caseless: p.flags.Fold}
		p.later = append(p.later, func() {
			if n.n = p.names[name]; n.n == 0 {
				fail("invalid named reference")
			}
		})
		return n
	case c >= '1' && c <= '9':
		end := p.pos
		for end < len(p.in) && p.in[end] >= '0' && p.in[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(string(p.in[p.pos:end])); err == nil && n <= p.total {
			p.pos = end
			return &node{kind: kindRef, n: n, caseless: p.flags.Fold}
		}
		if p.flags.Unicode {
			fail("invalid escape")
		}
	}
	if set := p.set(); set != nil {
		return &node{kind: kindClass, class: set.finish()}
	}
	return p.char(p.escaped())
}

// words adds the members of \w.
func (p *scriptParser) words(c *class) *class {
	c.addPairs(wordChars...)
	if p.fold == foldSimple {
		c.addPairs(0x17f, 0x17f, 0x212a, 0x212a)
	}
	return c
}

// set reads the escape of a class, behind the backslash; nil if there is none.
func (p *scriptParser) set() *class {
	c := p.in[p.pos]
	s := &class{negative: c >= 'A' && c <= 'Z'}
	switch c {
	case 'd', 'D':
		s.addPairs(digits...)
	case 'w', 'W':
		p.words(s)
	case 's', 'S':
		s.addPairs(scriptSpaces...)
	case 'p', 'P':
		if !p.flags.Unicode {
			return nil
		}
		s.negative = false
		p.pos++
		if !p.take("{") {
			fail("invalid property name")
		}
		start := p.pos
		for p.pos < len(p.in) && p.in[p.pos] != '}' {
			p.pos++
		}
		name := string(p.in[start:p.pos])
		value := name[strings.IndexByte(name, '=')+1:]
		if long, ok := longNames[loose(value)]; ok {
			name = long
		}
		if p.pos == len(p.in) || !s.addProperty(name, c == 'P') {
			fail("invalid property name: " + name)
		}
	default:
		return nil
	}
	p.pos++
	return s
}

// escaped reads an escape that denotes one character, behind the backslash.
func (p *scriptParser) escaped() rune {
	c := p.in[p.pos]
	p.pos++
	switch c {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'v':
		return '\v'
	case 'f':
		return '\f'
	case 'r':
		return '\r'
	case 'c':
		if p.pos < len(p.in) {
			if d := p.in[p.pos] | 0x20; d >= 'a' && d <= 'z' {
				p.pos++
				return d & 0x1f
			}
		}
		if p.flags.Unicode {
			fail("invalid escape")
		}
		p.pos--
		return '\\'
	case 'x':
		if n, ok := p.hex(2); ok {
			return n
		}
	case 'u':
		if n, ok := p.unicodeEscape(); ok {
			return n
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		if p.flags.Unicode && (c != '0' || p.pos < len(p.in) && p.in[p.pos] >= '0' && p.in[p.pos] <= '9') {
			fail("invalid escape")
		}
		n := c - '0'
		for p.pos < len(p.in) && p.in[p.pos] >= '0' && p.in[p.pos] <= '7' && n*8 <= 255 {
			n = n*8 + p.in[p.pos] - '0'
			p.pos++
		}
		return n
	}
	if p.flags.Unicode && !strings.ContainsRune(`^$\.*+?()[]{}|/-`, c) {
		fail("invalid escape")
	}
	return c
}

// hex reads n hexadecimal digits; ok is false, and nothing is read, if there are none.
func (p *scriptParser) hex(n int) (r rune, ok bool) {
	if p.pos+n > len(p.in) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p.in[p.pos:p.pos+n]), 16, 32)
	if err != nil {
		return 0, false
	}
	p.pos += n
	return rune(v), true
}

// unicodeEscape reads the part of an escape behind \u: four digits, with u also two such escapes of surrogates, or {digits}.
func (p *scriptParser) unicodeEscape() (rune, bool) {
	if p.flags.Unicode && p.take("{") {
		start := p.pos
		for p.pos < len(p.in) && p.in[p.pos] != '}' {
			p.pos++
		}
		n, err := strconv.ParseUint(string(p.in[start:p.pos]), 16, 32)
		if err != nil || n > utf8.MaxRune || p.pos == len(p.in) {
			fail("invalid Unicode escape")
		}
		p.pos++
		return rune(n), true
	}
	r, ok := p.hex(4)
	if !ok {
		return 0, false
	}
	if at := p.pos; p.flags.Unicode && utf16.IsSurrogate(r) && p.take(`\u`) {
		if low, ok := p.hex(4); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, true
			}
		}
		p.pos = at
	}
	return r, true
}

// bracket reads a character class, behind the opening bracket.
func (p *scriptParser) bracket() *node {
	c := &class{negative: p.take("^")}
	for {
		if p.pos >= len(p.in) {
			fail("unterminated character class")
		}
		if p.take("]") {
			return &node{kind: kindClass, class: c.finish()}
		}
		low, single := p.member(c)
		if !p.peek("-") || p.peek("-]") || p.pos+1 >= len(p.in) {
			if single {
				c.addFolded(low, low, p.fold)
			}
			continue
		}
		p.pos++
		high, ranged := p.member(c)
		switch {
		case single && ranged && high < low:
			fail("range out of order in character class")
		case single && ranged:
			c.addFolded(low, high, p.fold)
			continue
		case p.flags.Unicode:
			fail("invalid character class")
		}
		c.add('-', '-')
		if single {
			c.addFolded(low, low, p.fold)
		}
		if ranged {
			c.addFolded(high, high, p.fold)
		}
	}
}

// member reads a member of a class: a character, or a set that it adds to c; then single is false.
func (p *scriptParser) member(c *class) (r rune, single bool) {
	r = p.in[p.pos]
	p.pos++
	if r != '\\' {
		return r, true
	}
	if p.pos >= len(p.in) {
		fail(`\ at end of pattern`)
	}
	switch p.in[p.pos] {
	case 'b':
		p.pos++
		return '\b', true
	case '-':
		p.pos++
		return '-', true
	}
	if s := p.set(); s != nil {
		c.addSet(s)
		return 0, false
	}
	return p.escaped(), true
}
