package regex

import (
	"strings"
)

// bracket reads a character class in brackets.
func (p *parser) bracket() *node {
	if p.peek("[[:<:]]") || p.peek("[[:>:]]") {
		return p.wordEnd()
	}
	if end := posixEnd(p.in[p.pos:]); end > 0 {
		fail("POSIX named classes are supported only within a class")
	}
	p.pos++
	c := &class{}
	if p.peek("^") {
		p.pos++
		c.negative = true
	}
	fold := foldNone
	if p.flags.Fold {
		fold = foldSimple
	}
	// last is the character before, with which a range may begin; -1 if there is none; -2 after a class.
	const none, set = -1, -2
	last, ranged := rune(none), false
	for first := true; ; first = false {
		if p.pos >= len(p.in) {
			fail("missing terminating ] for character class")
		}
		switch {
		case p.quoted && p.peek(`\E`):
			p.quoted = false
			p.pos += 2
			first = false
			continue
		case p.quoted:
		case p.in[p.pos] == ']' && !first:
			p.pos++
			if ranged {
				c.add('-', '-')
			}
			return &node{kind: kindClass, class: c.finish()}
		case p.peek(`\E`):
			p.pos += 2
			continue
		case p.peek(`\Q`):
			p.pos += 2
			p.quoted = true
			continue
		case p.flags.more && (p.in[p.pos] == ' ' || p.in[p.pos] == '\t'):
			p.pos++
			continue
		case p.in[p.pos] == '-' && !first && !ranged && last != none && !p.closes():
			if last == set {
				fail("invalid range in character class")
			}
			p.pos++
			ranged = true
			continue
		}
		r, ok := p.member(c)
		switch {
		case !ok && ranged:
			fail("invalid range in character class")
		case !ok:
			last = set
		case ranged && r < last:
			fail("range out of order in character class")
		case ranged:
			c.addFolded(last, r, fold)
			last, ranged = none, false
		default:
			c.addFolded(r, r, fold)
			last = r
		}
	}
}

// wordEnd reads [[:<:]], the begin of a word, or [[:>:]], the end of one.
func (p *parser) wordEnd() *node {
	behind := p.peek("[[:>:]]")
	p.pos += len("[[:<:]]")
	words := &class{}
	words.addClass("word", false, p.ucp)
	words.finish()
	look := &node{kind: kindLook, behind: behind, sub: []*node{{kind: kindClass, class: words}}}
	return &node{kind: kindConcat, sub: []*node{{kind: kindWord, class: words}, look}}
}

// closes reports whether the hyphen at the position is the last member of a class.
func (p *parser) closes() bool {
	rest := p.in[p.pos+1:]
	for strings.HasPrefix(rest, `\E`) {
		rest = rest[2:]
	}
	return strings.HasPrefix(rest, "]")
}

// member reads a member of a class: a character, or a set that it adds to c; then ok is false.
func (p *parser) member(c *class) (r rune, ok bool) {
	if p.quoted {
		return p.next(), true
	}
	rest := p.in[p.pos:]
	if end := posixEnd(rest); end > 0 {
		if rest[1] != ':' {
			fail("POSIX collating elements are not supported")
		}
		name, negative := strings.CutPrefix(rest[2:end], "^")
		if posix[name] == nil {
			fail("unknown POSIX class name")
		}
		if p.flags.Fold && (name == "upper" || name == "lower") {
			name = "alpha"
		}
		c.addClass(name, negative, p.ucp)
		p.pos += end + 2
		return 0, false
	}
	if rest[0] != '\\' {
		return p.next(), true
	}
	p.pos++
	if p.pos >= len(p.in) {
		fail(`\ at end of pattern`)
	}
	letter := p.in[p.pos]
	if s := p.shorthand(letter); s != nil {
		p.pos++
		c.addSet(s)
		return 0, false
	}
	switch letter {
	case 'b':
		p.pos++
		return '\b', true
	case 'N':
		if strings.HasPrefix(p.in[p.pos+1:], "{U+") {
			p.pos++
			return p.hexBraces("U+"), true
		}
		fail(`\N is not supported in a class`)
	case 'B', 'R', 'X', 'A', 'z', 'Z', 'G', 'K', 'k', 'g', 'C':
		fail("escape sequence is invalid in character class")
	case '8', '9':
		p.pos++
		return rune(letter), true
	}
	return p.escaped(), true
}

// addSet adds a set, which may be a negative one.
func (c *class) addSet(s *class) {
	switch {
	case !s.negative:
		c.ranges, c.sets = append(c.ranges, s.ranges...), append(c.sets, s.sets...)
	case len(s.sets) == 0:
		c.addOthers(s.finish().ranges...)
	case len(s.sets) == 1 && len(s.ranges) == 0:
		p := s.sets[0]
		p.negative = !p.negative
		c.sets = append(c.sets, p)
	default: // \W, \D or \S behind (*UCP)
		s.negative = false
		c.sets = append(c.sets, propertySet{several: s.finish(), negative: true})
	}
}

// posixEnd returns the index of the ":]" that ends a POSIX class such as [:alpha:], with which rest begins, also of
// [.a.] and [=a=]. It returns -1 if there is none; then the bracket is an ordinary member.
func posixEnd(rest string) int {
	if len(rest) < 2 || strings.IndexByte(":.=", rest[1]) < 0 || rest[0] != '[' {
		return -1
	}
	for i := 2; i+1 < len(rest); i++ {
		switch {
		case rest[i] == '\\' && (rest[i+1] == ']' || rest[i+1] == '\\'):
			i++
		case rest[i] == '[' && rest[i+1] == rest[1], rest[i] == ']':
			return -1
		case rest[i] == rest[1] && rest[i+1] == ']':
			return i
		}
	}
	return -1
}
