package tailoring

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// part is one collation element of a tailored string: of the root order, or a node.
type part struct {
	root element
	node *node
}

func (p part) strength() int {
	switch {
	case p.node == nil:
		return p.root.strength()
	case p.node.list.base != 0:
		return primary
	case p.node.list.before >= lastSecondaryIgnorable:
		return tertiary
	}
	return secondary
}

// Keys, as listKey.before, of the lists behind all characters that have no primary, no secondary, or no weight.
const (
	lastPrimaryIgnorable = iota + 4
	lastSecondaryIgnorable
	lastTertiaryIgnorable
)

// specials are the anchors that are no string.
var specials = map[string]struct {
	before int
	root   element
}{
	"last primary ignorable":   {lastPrimaryIgnorable, element{0, 0xffe, CommonTertiary}},
	"last secondary ignorable": {lastSecondaryIgnorable, element{0, 0, 0x18}},
	"last tertiary ignorable":  {lastTertiaryIgnorable, element{}},
}

// compiler makes a Table of rules.
type compiler struct {
	root    *root
	order   order
	words   map[string][]part // the tailored strings, in NFD
	longest int               // the size of the longest of them in bytes
	scripts []string          // the setting reorder
	at      []part            // the current place
	before  int               // the strength of a [before n] that the next relation applies
}

// compile returns the Table of rules without imports.
func compile(text string) (*Table, error) {
	rules, err := parseRules(text)
	if err != nil {
		return nil, err
	}
	c := &compiler{
		root: &root{engine: NewRoot()}, order: order{lists: map[listKey]*list{}}, words: map[string][]part{},
	}
	for _, r := range rules {
		if err := c.rule(r); err != nil {
			return nil, fmt.Errorf("%w: %s%s", err, r.text, r.setting)
		}
	}
	return c.table()
}

func (c *compiler) rule(r rule) error {
	switch {
	case r.reset:
		return c.resetTo(r)
	case r.strength != 0:
		return c.relation(r)
	}
	name, arg, _ := strings.Cut(r.setting, " ")
	switch name {
	case "reorder":
		c.scripts = strings.Fields(arg)
	case "suppressContractions":
		return c.separate(arg)
	case "normalization", "alternate", "backwards", "caseFirst", "strength", "optimize": // options of a collation
	default:
		return fmt.Errorf("unknown setting")
	}
	return nil
}

func (c *compiler) resetTo(r rule) error {
	c.before = r.before
	switch special, ok := specials[r.setting]; {
	case ok:
		c.at = []part{{node: c.order.list(listKey{before: special.before}, special.root).last()}}
	case r.setting != "":
		return fmt.Errorf("unknown place")
	default:
		c.at = c.resolve(r.text)
	}
	return nil
}

// separate gives each character of a set in brackets its own weights, so that the root order does not join it with the
// characters behind it.
func (c *compiler) separate(set string) error {
	from, ranged := rune(0), false
	for _, x := range strings.Trim(set, "[]") {
		switch {
		case isSpace(x):
			continue
		case x == '-':
			ranged = true
			continue
		case !ranged:
			from = x
		}
		for y := from; y <= x; y++ {
			c.define(string(y), rootParts(c.root.elements(string(y))))
		}
		from, ranged = x, false
	}
	return nil
}

// resolve returns the elements of a string by the rules so far.
func (c *compiler) resolve(s string) []part {
	s = norm.NFD.String(s)
	var parts []part
	plain := 0 // begin of the text without a tailored string
	for i := 0; i < len(s); {
		n := min(c.longest, len(s)-i)
		for ; n > 0; n-- {
			if w, ok := c.words[s[i:i+n]]; ok {
				parts = append(append(parts, rootParts(c.root.elements(s[plain:i]))...), w...)
				break
			}
		}
		if i += n; n > 0 {
			plain = i
			continue
		}
		_, n = utf8.DecodeRuneInString(s[i:])
		i += n
	}
	return append(parts, rootParts(c.root.elements(s[plain:]))...)
}

func rootParts(list []element) []part {
	parts := make([]part, len(list))
	for i, e := range list {
		parts[i].root = e
	}
	return parts
}

// define maps a string to elements.
func (c *compiler) define(s string, parts []part) {
	s = norm.NFD.String(s)
	c.words[s] = parts
	c.longest = max(c.longest, len(s))
}

// relation places a string at the current place and makes this the current one.
func (c *compiler) relation(r rule) error {
	extension := c.resolve(r.extension)
	if r.strength != identical {
		if err := c.place(r.strength); err != nil {
			return err
		}
	}
	c.define(r.text, append(append([]part(nil), c.at...), extension...))
	return nil
}

// place makes a node of a strength behind, or in front of, the current place.
func (c *compiler) place(strength int) error {
	at := c.at
	for len(at) > 0 && at[len(at)-1].strength() > strength {
		at = at[:len(at)-1]
	}
	if len(at) == 0 {
		return fmt.Errorf("a difference to an ignored character")
	}
	last := at[len(at)-1]
	var n *node
	switch {
	case c.before != 0 && c.before != strength:
		return fmt.Errorf("a relation of another strength than its reset")
	case c.before != 0 && last.node != nil && last.node.tailored:
		var err error
		if n, err = last.node.insertBefore(strength); err != nil {
			return err
		}
	case c.before != 0:
		k := listKey{primary: last.root.primary, before: strength}
		e := element{last.root.primary, CommonSecondary, CommonTertiary}
		if strength == secondary {
			k.secondary, e.secondary = last.root.secondary, last.root.secondary
		}
		l := c.order.list(k, e)
		n = &node{strength: strength, tailored: true, list: l}
		l.last().next = n
	case last.node != nil:
		n = last.node.insert(strength)
	default:
		n = c.order.at(last.root).insert(strength)
	}
	c.before = 0
	c.at = append(append([]part(nil), at[:len(at)-1]...), part{node: n})
	return nil
}

// table computes the weights.
func (c *compiler) table() (*Table, error) {
	t := &Table{start: map[rune]*branch{}, variable: map[rune]bool{}}
	var err error
	if t.blocks, err = c.root.arrange(c.scripts); err != nil {
		return nil, err
	}
	encode := func(p uint32) []byte { return t.AppendPrimary(nil, p) }
	for _, k := range c.order.keys {
		if err := c.order.lists[k].weigh(encode); err != nil {
			return nil, err
		}
	}
	for s, parts := range c.words {
		w := &Weights{Case: caseOf(s)}
		for _, p := range parts {
			w.add(t, p)
		}
		t.define(s, w)
	}
	return t, nil
}

// add appends the weights of a part.
func (w *Weights) add(t *Table, p part) {
	s, ter := p.root.secondary*secondaryStep, p.root.tertiary*tertiaryStep
	primary := p.root.primary != 0
	if primary {
		w.Primary = t.AppendPrimary(w.Primary, p.root.primary)
	}
	if p.node != nil {
		w.Primary = append(w.Primary, p.node.primary...)
		s, ter, primary = p.node.secondary, p.node.tertiary, len(p.node.primary) > 0
	}
	if primary {
		w.Count++
	}
	if s != 0 {
		w.Secondary = binary.BigEndian.AppendUint16(w.Secondary, s)
	}
	if ter != 0 {
		w.Tertiary = append(w.Tertiary, ter)
	}
}

// caseOf returns the case of a string for caseFirst.
func caseOf(s string) Case {
	upper, other := false, false
	for _, r := range s {
		if unicode.IsUpper(r) || unicode.IsTitle(r) {
			upper = true
		} else if unicode.IsLetter(r) {
			other = true
		}
	}
	switch {
	case upper && other:
		return MixedCase
	case upper:
		return UpperCase
	}
	return LowerCase
}
