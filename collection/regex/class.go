package regex

import (
	"slices"
	"sort"
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is a set of characters. Immutable once it is finished.
type class struct {
	negative bool
	ranges   []rune // pairs of first and last, sorted, without gaps of 0 after finish
	sets     []propertySet
	ascii    [2]uint64 // the members below 128, with regard to negative
	finished bool
}

// propertySet is the set of characters with a Unicode property, or without it.
type propertySet struct {
	table    *unicode.RangeTable
	several  *class // instead of table: a set of several properties
	negative bool
	name     string // as RE2 writes it in \p{name}, "" if it has no such property
}

// has reports whether r is in the set.
func (s *propertySet) has(r rune) bool {
	if s.several != nil {
		return s.several.has(r) != s.negative
	}
	return unicode.Is(s.table, r) != s.negative
}

// add adds the characters from lo to hi.
func (c *class) add(lo, hi rune) { c.ranges = append(c.ranges, lo, hi) }

// addPairs adds ranges, given as pairs.
func (c *class) addPairs(pairs ...rune) { c.ranges = append(c.ranges, pairs...) }

// addOthers adds all characters that are not in sorted pairs.
func (c *class) addOthers(pairs ...rune) {
	next := rune(0)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] > next {
			c.add(next, pairs[i]-1)
		}
		next = pairs[i+1] + 1
	}
	if next <= utf8.MaxRune {
		c.add(next, utf8.MaxRune)
	}
}

// addFolded adds the characters from lo to hi and, if fold, their other cases.
func (c *class) addFolded(lo, hi rune, fold foldMode) {
	c.add(lo, hi)
	if fold == foldNone {
		return
	}
	all := foldable()
	i := sort.Search(len(all), func(i int) bool { return all[i].r >= lo })
	for ; i < len(all) && all[i].r <= hi; i++ {
		for _, f := range all[i].others {
			if (f < lo || f > hi) && fold.same(all[i].r, f) {
				c.add(f, f)
			}
		}
	}
}

// finish sorts the ranges and computes the members below 128.
func (c *class) finish() *class {
	type pair struct{ lo, hi rune }
	pairs := make([]pair, 0, len(c.ranges)/2)
	for i := 0; i < len(c.ranges); i += 2 {
		pairs = append(pairs, pair{c.ranges[i], c.ranges[i+1]})
	}
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].lo < pairs[j].lo })
	c.ranges = c.ranges[:0]
	for _, p := range pairs {
		if n := len(c.ranges); n > 0 && p.lo <= c.ranges[n-1]+1 {
			c.ranges[n-1] = max(c.ranges[n-1], p.hi)
			continue
		}
		c.ranges = append(c.ranges, p.lo, p.hi)
	}
	c.ranges = slices.Clip(c.ranges)
	for r := range rune(128) {
		if c.in(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	c.finished = true
	return c
}

// has reports whether r is in the class.
func (c *class) has(r rune) bool {
	if r < 128 {
		return c.ascii[r>>6]&(1<<(r&63)) != 0
	}
	return c.in(r)
}

func (c *class) in(r rune) bool {
	lo, hi := 0, len(c.ranges)/2
	for lo < hi {
		m := (lo + hi) / 2
		switch {
		case r < c.ranges[2*m]:
			hi = m
		case r > c.ranges[2*m+1]:
			lo = m + 1
		default:
			return !c.negative
		}
	}
	for i := range c.sets {
		if c.sets[i].has(r) {
			return !c.negative
		}
	}
	return c.negative
}

// foldMode selects which characters are the same in upper and lower case.
type foldMode uint8

const (
	foldNone   foldMode = iota
	foldSimple          // by Unicode's simple case folding
	foldScript          // as ECMAScript without u: no ASCII character is the same as another one
)

// same reports whether two characters that are the same by simple case folding are the same in this mode.
func (m foldMode) same(a, b rune) bool {
	return m == foldSimple || m == foldScript && (a < utf8.RuneSelf) == (b < utf8.RuneSelf)
}

// otherCases returns the characters that are the same as r except for case.
func otherCases(r rune, mode foldMode) (others []rune) {
	if mode == foldNone {
		return nil
	}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if mode.same(r, f) {
			others = append(others, f)
		}
	}
	return others
}

// folded is a character with the others that are the same by simple case folding.
type folded struct {
	r      rune
	others []rune
}

// foldable returns all characters that have other cases, sorted.
var foldable = sync.OnceValue(func() (all []folded) {
	var runes []rune
	for _, r := range unicode.CaseRanges {
		for c := rune(r.Lo); c <= rune(r.Hi); c++ {
			for _, f := range otherCases(c, foldSimple) {
				runes = append(runes, c, f)
			}
		}
	}
	slices.Sort(runes)
	for _, r := range slices.Compact(runes) {
		all = append(all, folded{r, otherCases(r, foldSimple)})
	}
	return all
})
