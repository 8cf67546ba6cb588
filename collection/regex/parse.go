package regex

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Flags are the options of a pattern that letters such as (?i) change.
type Flags struct {
	Fold, Multiline, DotAll, Extended bool

	more, noCapture, ungreedy bool // xx, n, U
}

// Limits of a pattern.
const (
	nestMax    = 250 // depth of groups, as in PCRE2
	nameMax    = 32  // length of a name
	repeatMax  = 65535
	groupsMax  = 65535
	lookBehind = 65535
)

// parser reads a pattern of PCRE2.
type parser struct {
	in    string
	pos   int
	flags Flags
	ucp   bool
	tree  *Tree
	// groups is the number of the last group that began. In alternatives of (?|…) the numbers begin anew.
	groups int
	names  map[string]int
	depth  int
	looks  int  // depth of look-arounds
	quoted bool // between \Q and \E
	anyCR  bool // (*BSR_ANYCRLF)
	// later are checks that need the number of all groups.
	later []func()
}

// syntaxError is the panic with which a parser ends.
type syntaxError string

func fail(text string) { panic(syntaxError(text)) }

// Parse reads a pattern of PCRE2, which is UTF-8.
// Errors: a description, mostly in the words of PCRE2.
func Parse(pattern string, flags Flags) (t *Tree, err error) {
	defer func() {
		if r := recover(); r != nil {
			text, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			t, err = nil, errors.New(string(text))
		}
	}()
	p := &parser{in: pattern, flags: flags, names: map[string]int{}, tree: &Tree{limit: -1}}
	p.startVerbs()
	root := p.alternatives(false)
	if p.pos < len(p.in) {
		fail("unmatched closing parenthesis")
	}
	p.tree.root, p.tree.Groups = root, p.groups
	for _, check := range p.later {
		check()
	}
	checkLookBehinds(p.tree)
	return p.tree, nil
}

func (p *parser) peek(s string) bool { return strings.HasPrefix(p.in[p.pos:], s) }

// next returns the next character and passes it.
func (p *parser) next() rune {
	r, size := utf8.DecodeRuneInString(p.in[p.pos:])
	p.pos += size
	return r
}

// alternatives reads alternatives up to a closing parenthesis or the end. If reset, each begins with the same number of
// groups.
func (p *parser) alternatives(reset bool) *node {
	first, most := p.groups, p.groups
	var all []*node
	for {
		if reset {
			p.groups = first
		}
		all = append(all, p.sequence())
		most = max(most, p.groups)
		if !p.peek("|") {
			break
		}
		p.pos++
	}
	p.groups = most
	if len(all) == 1 {
		return all[0]
	}
	return &node{kind: kindAlt, sub: all}
}

// sequence reads elements up to | or ) or the end.
func (p *parser) sequence() *node {
	var list []*node
	for {
		p.skip()
		if p.pos >= len(p.in) || !p.quoted && (p.in[p.pos] == '|' || p.in[p.pos] == ')') {
			break
		}
		n := p.element()
		p.skip()
		if !p.quoted {
			n = p.quantified(n)
		}
		if n.kind != kindEmpty {
			list = append(list, n)
		}
	}
	switch len(list) {
	case 0:
		return &node{kind: kindEmpty}
	case 1:
		return list[0]
	}
	return &node{kind: kindConcat, sub: list}
}

// skip passes comments, \E, empty \Q\E and, in extended mode, white space.
func (p *parser) skip() {
	for p.pos < len(p.in) {
		switch {
		case p.quoted:
			if !p.peek(`\E`) {
				return
			}
			p.quoted = false
			p.pos += 2
		case p.peek(`\Q`):
			p.quoted = true
			p.pos += 2
		case p.peek(`\E`):
			p.pos += 2
		case p.peek("(?#"):
			i := strings.IndexByte(p.in[p.pos:], ')')
			if i < 0 {
				fail("missing ) after (?# comment")
			}
			p.pos += i + 1
		case p.flags.Extended:
			r, size := utf8.DecodeRuneInString(p.in[p.pos:])
			if r == '#' {
				if i := strings.IndexByte(p.in[p.pos:], '\n'); i >= 0 {
					p.pos += i + 1
				} else {
					p.pos = len(p.in)
				}
				continue
			}
			if !strings.ContainsRune(" \t\n\v\f\r\u0085\u200e\u200f\u2028\u2029", r) {
				return
			}
			p.pos += size
		default:
			return
		}
	}
}

// element reads one element without its quantifier.
func (p *parser) element() *node {
	if p.quoted {
		return p.char(p.next())
	}
	switch p.in[p.pos] {
	case '\\':
		return p.escape()
	case '[':
		return p.bracket()
	case '(':
		return p.group()
	case '*', '+', '?':
		fail("quantifier does not follow a repeatable item")
	case '{':
		if _, _, size := p.braces(); size > 0 {
			fail("quantifier does not follow a repeatable item")
		}
	case '.':
		p.pos++
		return p.dot(p.flags.DotAll)
	case '^':
		p.pos++
		if p.flags.Multiline {
			return &node{kind: kindLineStart}
		}
		return &node{kind: kindStart}
	case '$':
		p.pos++
		if p.flags.Multiline {
			return &node{kind: kindLineEnd}
		}
		return &node{kind: kindEndLine}
	}
	return p.char(p.next())
}

func (p *parser) dot(all bool) *node {
	if all {
		return &node{kind: kindAny}
	}
	return &node{kind: kindDot}
}

// char returns the node of a literal character.
func (p *parser) char(r rune) *node {
	n := &node{kind: kindChar, r: r}
	p.tree.lineChar = p.tree.lineChar || r == '\r' || r == '\n'
	if p.flags.Fold {
		n.fold = otherCases(r, foldSimple)
	}
	return n
}

// quantified reads the quantifier after an element, if there is one.
func (p *parser) quantified(n *node) *node {
	if p.pos >= len(p.in) {
		return n
	}
	least, most, size := 0, -1, 1
	switch p.in[p.pos] {
	case '*':
	case '+':
		least = 1
	case '?':
		most = 1
	case '{':
		if least, most, size = p.braces(); size == 0 {
			return n
		}
	default:
		return n
	}
	switch n.kind {
	case kindStart, kindEnd, kindEndLine, kindLineStart, kindLineEnd, kindWord, kindNotWord, kindFrom, kindKeep, kindVerb, kindEmpty, kindDefine:
		// An empty group has n 1. Of the verbs, (*ACCEPT) may be optional.
		if (n.kind != kindEmpty || n.n == 0) && (n.kind != kindVerb || n.verb != verbAccept) {
			fail("quantifier does not follow a repeatable item")
		}
	}
	p.pos += size
	possessive := false
	out := &node{kind: kindRepeat, min: least, max: most, sub: []*node{n}}
	switch {
	case p.peek("+"):
		possessive = true
		p.pos++
	case p.peek("?"):
		p.pos++
		if !p.flags.ungreedy {
			out.mode = lazy
		}
	case p.flags.ungreedy:
		out.mode = lazy
	}
	if n.kind == kindLook { // a repeated condition holds or not
		out.min, out.max = min(out.min, 1), 1
		if most == 0 {
			out.max = 0
		}
	}
	p.skip()
	if !p.quoted && p.pos < len(p.in) {
		_, _, braces := 0, 0, 0
		if p.in[p.pos] == '{' {
			_, _, braces = p.braces()
		}
		if braces > 0 || strings.IndexByte("*+?", p.in[p.pos]) >= 0 {
			fail("quantifier does not follow a repeatable item")
		}
	}
	if possessive {
		return &node{kind: kindAtomic, sub: []*node{out}}
	}
	return out
}

// braces reads {n}, {n,} and {n,m}. size is 0 if the text at the position is none of these.
func (p *parser) braces() (least, most, size int) {
	rest := p.in[p.pos:]
	end := strings.IndexByte(rest, '}')
	if end < 2 {
		return 0, 0, 0
	}
	low, high, ranged := strings.Cut(rest[1:end], ",")
	if !isNumber(low) || ranged && high != "" && !isNumber(high) {
		return 0, 0, 0
	}
	least = repeatCount(low)
	switch {
	case !ranged:
		most = least
	case high == "":
		most = -1
	default:
		most = repeatCount(high)
		if most < least {
			fail("numbers out of order in {} quantifier")
		}
	}
	return least, most, end + 1
}

func repeatCount(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n > repeatMax {
		fail("number too big in {} quantifier")
	}
	return n
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
