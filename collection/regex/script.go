package regex

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ScriptFlags are the flags of a regular expression of ECMAScript that change its matches.
type ScriptFlags struct{ Fold, Multiline, DotAll, Unicode bool }

// scriptParser reads a pattern of ECMAScript, with the additions of Annex B where Unicode is not set.
type scriptParser struct {
	in     []rune // code points, or code units without Unicode
	pos    int
	flags  ScriptFlags
	fold   foldMode
	groups int
	total  int // number of all groups
	named  bool
	names  map[string]int
	tree   *Tree
	depth  int
	later  []func()
}

// ParseScript reads a pattern of ECMAScript. Without Unicode, its programs match texts that are sequences of UTF-16 code
// units; see ScriptText.
// Errors: a description.
func ParseScript(pattern string, flags ScriptFlags) (t *Tree, err error) {
	defer func() {
		if r := recover(); r != nil {
			text, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			t, err = nil, errors.New(string(text))
		}
	}()
	p := &scriptParser{flags: flags, names: map[string]int{}}
	p.tree = &Tree{limit: -1, script: true, units: !flags.Unicode, newline: newlineScript, noStart: false}
	for _, r := range pattern {
		if a, b := utf16.EncodeRune(r); !flags.Unicode && a != utf8.RuneError {
			p.in = append(p.in, a, b)
			continue
		}
		p.in = append(p.in, r)
	}
	switch {
	case flags.Fold && flags.Unicode:
		p.fold = foldSimple
	case flags.Fold:
		p.fold = foldScript
	}
	p.count()
	root := p.alternatives()
	if p.pos < len(p.in) {
		fail("unmatched )")
	}
	p.tree.root, p.tree.Groups = root, p.groups
	for _, check := range p.later {
		check()
	}
	return p.tree, nil
}

// ScriptText returns a text of UTF-16 code units in the form that programs of ECMAScript match: UTF-8, where a surrogate
// that is no pair, and without Unicode every surrogate, is a sequence of three bytes.
func ScriptText(units []uint16, unicode bool) []byte {
	out := make([]byte, 0, len(units)+len(units)/8)
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if unicode && utf16.IsSurrogate(r) && i+1 < len(units) {
			if pair := utf16.DecodeRune(r, rune(units[i+1])); pair != utf8.RuneError {
				out = utf8.AppendRune(out, pair)
				i++
				continue
			}
		}
		if utf16.IsSurrogate(r) {
			out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r&0x3f))
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// count finds the number of groups, and whether one has a name.
func (p *scriptParser) count() {
	class := false
	for i := 0; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			rest := string(p.in[i:min(i+4, len(p.in))])
			named := strings.HasPrefix(rest, "(?<") && !strings.HasPrefix(rest, "(?<=") && !strings.HasPrefix(rest, "(?<!")
			p.named = p.named || named
			if named || !strings.HasPrefix(rest, "(?") {
				p.total++
			}
		}
	}
}

func (p *scriptParser) peek(s string) bool {
	rest := p.in[p.pos:]
	for i, r := range s {
		if i >= len(rest) || rest[i] != r {
			return false
		}
	}
	return true
}

func (p *scriptParser) take(s string) bool {
	if !p.peek(s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *scriptParser) alternatives() *node {
	var all []*node
	for {
		all = append(all, p.sequence())
		if !p.take("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return &node{kind: kindAlt, sub: all}
}

func (p *scriptParser) sequence() *node {
	var list []*node
	for p.pos < len(p.in) && p.in[p.pos] != '|' && p.in[p.pos] != ')' {
		first := p.groups + 1
		list = append(list, p.quantified(p.element(), first))
	}
	switch len(list) {
	case 0:
		return &node{kind: kindEmpty}
	case 1:
		return list[0]
	}
	return &node{kind: kindConcat, sub: list}
}

func (p *scriptParser) element() *node {
	c := p.in[p.pos]
	switch c {
	case '^', '$', '.':
		p.pos++
		switch {
		case c == '.' && p.flags.DotAll:
			return &node{kind: kindAny}
		case c == '.':
			return &node{kind: kindDot}
		case c == '^' && p.flags.Multiline:
			return &node{kind: kindScriptLine}
		case c == '^':
			return &node{kind: kindStart}
		case p.flags.Multiline:
			return &node{kind: kindLineEnd}
		}
		return &node{kind: kindEnd}
	case '(':
		return p.group()
	case '[':
		p.pos++
		return p.bracket()
	case '\\':
		p.pos++
		return p.escape()
	case '*', '+', '?':
		fail("nothing to repeat")
	case '{':
		if _, _, ok := p.braces(); ok {
			fail("nothing to repeat")
		}
	}
	if p.flags.Unicode && strings.ContainsRune("{}]", c) {
		fail("lone quantifier bracket")
	}
	p.pos++
	return p.char(c)
}

func (p *scriptParser) char(r rune) *node {
	return &node{kind: kindChar, r: r, fold: otherCases(r, p.fold)}
}

func (p *scriptParser) group() *node {
	if p.depth++; p.depth > nestMax {
		fail("groups nest too deep")
	}
	defer func() { p.depth-- }()
	p.pos++
	n := &node{}
	switch {
	case p.take("?:"):
		return &node{kind: kindConcat, sub: []*node{p.close()}}
	case p.peek("?=") || p.peek("?!"):
		n.kind, n.negative = kindLook, p.in[p.pos+1] == '!'
		p.pos += 2
	case p.peek("?<=") || p.peek("?<!"):
		n.kind, n.behind, n.negative = kindLook, true, p.in[p.pos+2] == '!'
		p.pos += 3
	default:
		p.groups++
		n.kind, n.n = kindGroup, p.groups
		if p.take("?<") {
			name := p.name()
			if p.names[name] != 0 {
				fail("two groups have the same name")
			}
			p.names[name] = n.n
			p.tree.Names = append(p.tree.Names, GroupName{name, n.n})
		} else if p.peek("?") {
			fail("invalid group")
		}
	}
	n.sub = []*node{p.close()}
	return n
}

// close reads alternatives and the closing parenthesis.
func (p *scriptParser) close() *node {
	n := p.alternatives()
	if !p.take(")") {
		fail("unterminated group")
	}
	return n
}

func (p *scriptParser) name() string {
	start := p.pos
	for p.pos < len(p.in) && p.in[p.pos] != '>' {
		p.pos++
	}
	if p.pos == len(p.in) || p.pos == start {
		fail("invalid group name")
	}
	p.pos++
	return string(p.in[start : p.pos-1])
}

// quantified reads the quantifier after an element, if there is one; first is the number of the first group in it.
func (p *scriptParser) quantified(n *node, first int) *node {
	if p.pos >= len(p.in) {
		return n
	}
	out := &node{kind: kindRepeat, max: -1, sub: []*node{n}, lo: first, hi: p.groups + 1}
	switch c := p.in[p.pos]; {
	case c == '*':
		p.pos++
	case c == '+':
		p.pos++
		out.min = 1
	case c == '?':
		p.pos++
		out.max = 1
	case c == '{':
		least, most, ok := p.braces()
		if !ok {
			return n
		}
		out.min, out.max = least, most
	default:
		return n
	}
	switch n.kind {
	case kindStart, kindEnd, kindScriptLine, kindLineEnd, kindWord, kindNotWord:
		fail("nothing to repeat")
	case kindLook:
		if n.behind || p.flags.Unicode {
			fail("nothing to repeat")
		}
	}
	if p.take("?") {
		out.mode = lazy
	}
	return out
}

// braces reads {n}, {n,} or {n,m}; ok is false, and nothing is read, if there is none.
func (p *scriptParser) braces() (least, most int, ok bool) {
	end := p.pos
	for end < len(p.in) && p.in[end] != '}' {
		end++
	}
	if end == len(p.in) {
		return 0, 0, false
	}
	low, high, ranged := strings.Cut(string(p.in[p.pos+1:end]), ",")
	if !isNumber(low) || ranged && high != "" && !isNumber(high) {
		return 0, 0, false
	}
	count := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil || n > 1<<30 {
			return 1 << 30
		}
		return n
	}
	least = count(low)
	switch {
	case !ranged:
		most = least
	case high == "":
		most = -1
	default:
		if most = count(high); most < least {
			fail("numbers out of order in {} quantifier")
		}
	}
	p.pos = end + 1
	return least, most, true
}
