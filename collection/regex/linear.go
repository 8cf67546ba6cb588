package regex

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Linear is a pattern in the syntax of RE2.
type Linear struct {
	Text string
	// FinalLine reports that the pattern means the same for texts that do not end with a newline only: it has a $
	// outside of multi-line mode, \Z, or ^ in multi-line mode.
	FinalLine bool
	// EmptyRounds reports that a part which may match the empty text is repeated: then the existence of a match is
	// sure to be the same, its place is not.
	EmptyRounds bool
}

// Linear returns the pattern in the syntax of RE2; ok is false if it has no such form.
func (t *Tree) Linear() (l Linear, ok bool) {
	if t.newline != newlineLF || t.notEmpty != 0 || t.limit >= 0 {
		return l, false
	}
	w := &linearWriter{}
	if !w.node(t.root) {
		return l, false
	}
	return Linear{w.String(), w.finalLine, w.emptyRounds}, true
}

type linearWriter struct {
	strings.Builder
	finalLine, emptyRounds bool
	groups                 int // so far
}

// node writes a node in a form that may be followed by anything but a quantifier. It returns false if RE2 lacks it.
func (w *linearWriter) node(n *node) bool {
	switch n.kind {
	case kindEmpty:
	case kindChar:
		w.chars([]*node{n})
	case kindClass:
		return w.class(n.class)
	case kindAny:
		w.WriteString("(?s:.)")
	case kindDot:
		w.WriteString("(?-s:.)")
	case kindStart:
		w.WriteString(`\A`)
	case kindEnd:
		w.WriteString(`\z`)
	case kindEndLine:
		w.finalLine = true
		w.WriteString(`\z`)
	case kindLineStart:
		w.finalLine = true
		w.WriteString("(?m:^)")
	case kindLineEnd:
		w.WriteString("(?m:$)")
	case kindWord, kindNotWord:
		if len(n.class.sets) > 0 {
			return false
		}
		w.WriteString(map[kind]string{kindWord: `\b`, kindNotWord: `\B`}[n.kind])
	case kindGroup:
		if w.groups++; n.n != w.groups { // the numbers of (?|…)
			return false
		}
		w.WriteString("(")
		if !w.node(n.sub[0]) {
			return false
		}
		w.WriteString(")")
	case kindConcat:
		return w.concat(n.sub)
	case kindAlt:
		w.WriteString("(?:")
		for i, s := range n.sub {
			if i > 0 {
				w.WriteString("|")
			}
			if !w.node(s) {
				return false
			}
		}
		w.WriteString(")")
	case kindRepeat:
		return w.repeat(n)
	default:
		return false
	}
	return true
}

func (w *linearWriter) concat(list []*node) bool {
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].kind == kindChar && (len(list[j].fold) > 0) == (len(list[i].fold) > 0) {
			j++
		}
		if j > i {
			w.chars(list[i:j])
			i = j
			continue
		}
		if !w.node(list[i]) {
			return false
		}
		i++
	}
	return true
}

// chars writes characters, all with other cases or all without.
func (w *linearWriter) chars(list []*node) {
	fold := len(list[0].fold) > 0
	if fold {
		w.WriteString("(?i:")
	}
	for _, n := range list {
		w.char(n.r)
	}
	if fold {
		w.WriteString(")")
	}
}

func (w *linearWriter) char(r rune) {
	if r < utf8.RuneSelf && (r < ' ' || r == 0x7f) {
		fmt.Fprintf(w, `\x%02x`, r)
		return
	}
	if strings.ContainsRune(`\.+*?()|[]{}^$-`, r) {
		w.WriteByte('\\')
	}
	w.WriteRune(r)
}

func (w *linearWriter) class(c *class) bool {
	w.WriteString("[")
	if c.negative {
		w.WriteString("^")
	}
	for i := 0; i < len(c.ranges); i += 2 {
		w.char(c.ranges[i])
		if c.ranges[i+1] > c.ranges[i] {
			w.WriteByte('-')
			w.char(c.ranges[i+1])
		}
	}
	for _, s := range c.sets {
		if s.name == "" {
			return false
		}
		w.WriteString(`\` + map[bool]string{false: "p", true: "P"}[s.negative] + "{" + s.name + "}")
	}
	if len(c.ranges) == 0 && len(c.sets) == 0 {
		return false
	}
	w.WriteString("]")
	return true
}

func (w *linearWriter) repeat(n *node) bool {
	if n.max != 0 && n.max != 1 && n.sub[0].nullable() {
		w.emptyRounds = true
	}
	group := n.sub[0].kind != kindGroup && !n.sub[0].single()
	if n.sub[0].kind == kindChar && len(n.sub[0].fold) > 0 {
		group = false // has a group of its own
	}
	if group {
		w.WriteString("(?:")
	}
	if !w.node(n.sub[0]) {
		return false
	}
	if group {
		w.WriteString(")")
	}
	switch {
	case n.min == 0 && n.max == -1:
		w.WriteString("*")
	case n.min == 1 && n.max == -1:
		w.WriteString("+")
	case n.min == 0 && n.max == 1:
		w.WriteString("?")
	case n.max == -1:
		fmt.Fprintf(w, "{%d,}", n.min)
	case n.min == n.max:
		fmt.Fprintf(w, "{%d}", n.min)
	default:
		fmt.Fprintf(w, "{%d,%d}", n.min, n.max)
	}
	if n.mode == lazy {
		w.WriteString("?")
	}
	return true
}
