package regex

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// group reads an element that begins with an opening parenthesis.
func (p *parser) group() *node {
	p.pos++
	switch {
	case p.peek("*"):
		return p.verb()
	case !p.peek("?"):
		if p.flags.noCapture {
			return p.plain(false)
		}
		return p.capture("")
	}
	p.pos++
	rest := p.in[p.pos:]
	switch {
	case strings.HasPrefix(rest, ":"):
		p.pos++
		return p.plain(false)
	case strings.HasPrefix(rest, "|"):
		p.pos++
		return p.plain(true)
	case strings.HasPrefix(rest, ">"):
		p.pos++
		return p.atomic()
	case strings.HasPrefix(rest, "="), strings.HasPrefix(rest, "!"):
		p.pos++
		return p.look(false, rest[0] == '!')
	case strings.HasPrefix(rest, "<="), strings.HasPrefix(rest, "<!"):
		p.pos += 2
		return p.look(true, rest[1] == '!')
	case strings.HasPrefix(rest, "*"):
		fail("non-atomic look-around (?*…) is not supported")
	case strings.HasPrefix(rest, "<*"):
		fail("non-atomic look-around (?<*…) is not supported")
	case strings.HasPrefix(rest, "P<"), strings.HasPrefix(rest, "<"), strings.HasPrefix(rest, "'"):
		p.pos += strings.IndexAny(rest, "<'") + 1
		end := byte('>')
		if rest[0] == '\'' {
			end = '\''
		}
		return p.capture(p.name(end))
	case strings.HasPrefix(rest, "P="):
		p.pos += 2
		return p.reference(p.name(')'))
	case strings.HasPrefix(rest, "P>"), strings.HasPrefix(rest, "&"):
		p.pos += strings.IndexAny(rest, ">&") + 1
		return p.callName(p.name(')'))
	case strings.HasPrefix(rest, "P"):
		fail("unrecognized character after (?P")
	case strings.HasPrefix(rest, "("):
		return p.conditional()
	case strings.HasPrefix(rest, "R"):
		p.pos++
		if !p.peek(")") {
			fail("(?R (recursive pattern call) must be followed by a closing parenthesis")
		}
		p.pos++
		return &node{kind: kindCall}
	case strings.HasPrefix(rest, "C"):
		return p.callout()
	case rest != "" && (rest[0] >= '0' && rest[0] <= '9' || len(rest) > 1 && (rest[0] == '+' || rest[0] == '-') && rest[1] >= '0' && rest[1] <= '9'):
		n := p.number(')')
		return p.call(n)
	}
	return p.letters()
}

// enter counts the depth of groups.
func (p *parser) enter() {
	if p.depth++; p.depth > nestMax {
		fail("parentheses are too deeply nested")
	}
}

// inside reads the alternatives of a group and its closing parenthesis. Flags are those of before afterwards.
func (p *parser) inside(reset bool) *node {
	p.enter()
	before := p.flags
	n := p.alternatives(reset)
	if !p.peek(")") {
		fail("missing closing parenthesis")
	}
	p.pos++
	p.flags = before
	p.depth--
	return n
}

// plain reads a group that captures nothing.
func (p *parser) plain(reset bool) *node {
	n := p.inside(reset)
	if n.kind == kindEmpty {
		return &node{kind: kindEmpty, n: 1}
	}
	return &node{kind: kindConcat, sub: []*node{n}}
}

func (p *parser) atomic() *node { return &node{kind: kindAtomic, sub: []*node{p.inside(false)}} }

func (p *parser) look(behind, negative bool) *node {
	p.looks++
	n := &node{kind: kindLook, behind: behind, negative: negative, sub: []*node{p.inside(false)}}
	p.looks--
	return n
}

// capture reads a capturing group.
func (p *parser) capture(name string) *node {
	if p.groups++; p.groups > groupsMax {
		fail("too many capturing groups (maximum 65535)")
	}
	n := p.groups
	if name != "" {
		before, there := p.names[name]
		if there && before != n {
			fail("two named subpatterns have the same name (PCRE2_DUPNAMES not set)")
		}
		p.names[name] = n
		if !there {
			p.tree.Names = append(p.tree.Names, GroupName{name, n})
		}
	}
	return &node{kind: kindGroup, n: n, sub: []*node{p.inside(false)}}
}

// name reads a name up to end.
func (p *parser) name(end byte) string {
	start := p.pos
	for p.pos < len(p.in) {
		r, size := utf8.DecodeRuneInString(p.in[p.pos:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		if p.pos == start && unicode.IsDigit(r) {
			fail("subpattern name must start with a non-digit")
		}
		p.pos += size
	}
	name := p.in[start:p.pos]
	switch {
	case name == "":
		fail("subpattern name expected")
	case len(name) > nameMax:
		fail("subpattern name is too long (maximum 32 code units)")
	case !p.peek(string(end)) && end == ')':
		fail("missing closing parenthesis")
	case !p.peek(string(end)):
		fail("syntax error in subpattern name (missing terminator?)")
	}
	p.pos++
	return name
}

// number reads a number, with a sign for one that counts from the current group, up to end.
func (p *parser) number(end byte) int {
	i := strings.IndexByte(p.in[p.pos:], end)
	if i < 0 {
		fail("missing closing parenthesis")
	}
	text := p.in[p.pos : p.pos+i]
	p.pos += i + 1
	return p.absolute(text)
}

// absolute returns the number of the group that a text such as 2, +1 or -1 denotes.
func (p *parser) absolute(text string) int {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n > groupsMax:
		if isNumber(strings.TrimLeft(text, "+-")) {
			fail("subpattern number is too big")
		}
		fail("missing closing parenthesis")
	case text[0] != '+' && text[0] != '-':
		return n
	case n == 0:
		fail("a relative value of zero is not allowed")
	case n > 0:
		return p.groups + n
	}
	if n += p.groups + 1; n < 1 {
		fail("reference to non-existent subpattern")
	}
	return n
}

// named sets n.n to the number of a group once all names are known.
func (p *parser) named(n *node, name string) *node {
	p.later = append(p.later, func() {
		number, ok := p.names[name]
		if !ok {
			fail("reference to non-existent subpattern")
		}
		n.n = number
	})
	return n
}

// numbered checks that group n.n exists once all are known.
func (p *parser) numbered(n *node) *node {
	p.later = append(p.later, func() {
		if n.n > p.tree.Groups {
			fail("reference to non-existent subpattern")
		}
	})
	return n
}

func (p *parser) reference(name string) *node {
	return p.named(&node{kind: kindRef, caseless: p.flags.Fold}, name)
}

func (p *parser) referenceNumber(n int) *node {
	return p.numbered(&node{kind: kindRef, caseless: p.flags.Fold, n: n})
}

func (p *parser) callName(name string) *node { return p.named(&node{kind: kindCall}, name) }

func (p *parser) call(n int) *node { return p.numbered(&node{kind: kindCall, n: n}) }

// callout passes (?C) and (?Cn), which have no effect here.
func (p *parser) callout() *node {
	i := strings.IndexByte(p.in[p.pos:], ')')
	if i < 0 || i > 1 && !isNumber(p.in[p.pos+1:p.pos+i]) {
		fail("(?C callouts with a text are not supported")
	}
	p.pos += i + 1
	return &node{kind: kindEmpty}
}

// letters reads (?ims-x) and (?ims-x:…).
func (p *parser) letters() *node {
	f, on, caret := p.flags, true, p.peek("^")
	if caret {
		p.pos++
		f.Fold, f.Multiline, f.DotAll, f.Extended, f.more, f.noCapture = false, false, false, false, false, false
	}
	for p.pos < len(p.in) {
		c := p.in[p.pos]
		p.pos++
		switch c {
		case '-':
			if !on || caret {
				fail("invalid hyphen in option setting")
			}
			on = false
		case 'i':
			f.Fold = on
		case 'm':
			f.Multiline = on
		case 's':
			f.DotAll = on
		case 'n':
			f.noCapture = on
		case 'U':
			f.ungreedy = on
		case 'x':
			f.Extended, f.more = on, false
			if p.peek("x") {
				p.pos++
				f.more = on
			}
		case 'J':
			fail("(?J): several groups of one name are not supported")
		case ')':
			p.flags = f
			return &node{kind: kindEmpty}
		case ':':
			before := p.flags
			p.flags = f
			n := p.plain(false)
			p.flags = before
			return n
		default:
			fail("unrecognized character after (? or (?-")
		}
	}
	fail("missing closing parenthesis")
	return nil
}

// conditional reads (?(condition)yes|no).
func (p *parser) conditional() *node {
	p.pos++
	n := &node{kind: kindCond}
	rest := p.in[p.pos:]
	end := strings.IndexByte(rest, ')')
	switch {
	case strings.HasPrefix(rest, "?=") || strings.HasPrefix(rest, "?!") || strings.HasPrefix(rest, "?<=") || strings.HasPrefix(rest, "?<!"), strings.HasPrefix(rest, "*"):
		p.pos--
		look := p.group()
		if look.kind != kindLook {
			fail("assertion expected after (?( or (?(?C)")
		}
		n.sub = append(n.sub, look)
	case strings.HasPrefix(rest, "?"):
		fail("assertion expected after (?( or (?(?C)")
	case end < 0:
		fail("missing closing parenthesis")
	default:
		p.condition(n, rest[:end], end)
	}
	if n.sub == nil {
		n.sub = []*node{nil}
	}
	p.enter()
	before := p.flags
	body := p.alternatives(false)
	if !p.peek(")") {
		fail("missing closing parenthesis")
	}
	p.pos++
	p.flags = before
	p.depth--
	branches := []*node{body}
	if body.kind == kindAlt {
		branches = body.sub
	}
	switch {
	case n.kind == kindDefine && len(branches) > 1:
		fail("DEFINE subpattern contains more than one branch")
	case n.kind == kindDefine:
		n.sub = branches
	case len(branches) > 2:
		fail("conditional subpattern contains more than two branches")
	case len(branches) == 1:
		n.sub = append(n.sub, branches[0], &node{kind: kindEmpty})
	default:
		n.sub = append(n.sub, branches...)
	}
	return n
}

// condition reads a condition that is no look-around; text is the text between the parentheses, end its length.
func (p *parser) condition(n *node, text string, end int) {
	n.cond = ifGroup
	version, isVersion := strings.CutPrefix(text, "VERSION")
	switch {
	case text == "DEFINE":
		n.kind = kindDefine
	case isVersion && strings.Contains(text, "="):
		version = strings.TrimPrefix(strings.TrimPrefix(version, ">"), "=")
		v, err := strconv.ParseFloat(version, 64)
		if err != nil {
			fail("syntax error or number too big in (?(VERSION condition")
		}
		n.cond = ifHoldsNo
		if v == 10.42 || v <= 10.42 && strings.HasPrefix(text, "VERSION>") {
			n.cond = ifHolds
		}
	case text == "R" && p.names["R"] == 0:
		n.cond, n.n = ifCall, -1
	case strings.HasPrefix(text, "R&"):
		p.pos += 2
		n.cond = ifCall
		p.named(n, p.name(')'))
		return
	case len(text) > 1 && text[0] == 'R' && isNumber(text[1:]):
		n.cond, n.n = ifCall, p.absolute(text[1:])
		p.numbered(n)
	case text != "" && isNumber(strings.TrimLeft(text[:1], "+-")+text[1:]):
		if n.n = p.absolute(text); n.n == 0 {
			fail("invalid condition (?(0)")
		}
		p.numbered(n)
	case strings.HasPrefix(text, "<"), strings.HasPrefix(text, "'"):
		p.pos++
		last := byte('>')
		if text[0] == '\'' {
			last = '\''
		}
		p.named(n, p.name(last))
		if !p.peek(")") {
			fail("missing closing parenthesis for condition")
		}
		p.pos++
		return
	default:
		p.named(n, p.name(')'))
		return
	}
	p.pos += end + 1
}
