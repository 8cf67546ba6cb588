package mql

import (
	"bytes"
	"encoding/binary"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/unicode/norm"

	"github.com/cantledb/cantle/collection/tailoring"
)

// The engine below (x/text/collate) computes the weights of three levels and applies the tailorings of
// languages. It supports neither shifted punctuation, case first, a separate case level nor numbers with
// leading zeros. So appendKey cuts a string into runs, takes only the weights of plain text from the
// engine, and joins the levels itself:
//
//	primary… 00 00 [secondary… 00 00] [case… 00] [tertiary… 00] [quaternary… 00] [identical]
//
// Weights never begin with the bytes of a separator. The most common weight of the second and third
// level is also the least one, so dropping it at the end of a level keeps the order and makes most keys
// short.

// collateState is the working memory of one comparison.
type collateState struct {
	engine                         *collate.Collator
	buf                            collate.Buffer
	primary, secondary, tertiary   []byte
	caseLevel, quaternary, rewrite []byte
	cases, tailored                []byte // see collation_tailored.go
	a, b                           []byte
}

const (
	commonSecondary = tailoring.CommonSecondary
	commonTertiary  = tailoring.CommonTertiary
	// numberMark follows the weight of the digit zero, in front of a number's digits; no weight begins with this
	// byte.
	numberMark = 0xff
	// numberDigitsMax is the largest number of digits that form one number.
	numberDigitsMax = 254
)

func (c *Collation) appendKey(dst, s []byte, st *collateState) []byte {
	st.primary, st.secondary, st.tertiary = st.primary[:0], st.secondary[:0], st.tertiary[:0]
	st.caseLevel, st.quaternary, st.cases = st.caseLevel[:0], st.quaternary[:0], st.cases[:0]
	switch {
	case c.lang.posix && c.lang.table == nil:
		c.posixWeights(s, st)
	case c.lang.plain && !c.spec.numericOrdering && c.asciiWeights(s, st):
	default:
		c.runs(s, st)
	}
	return c.assemble(dst, s, st)
}

// assemble writes the levels that the strength requires.
func (c *Collation) assemble(dst, s []byte, st *collateState) []byte {
	sp := &c.spec
	dst = append(append(dst, st.primary...), 0, 0)
	if sp.strength >= 2 {
		w := st.secondary
		if sp.backwards {
			for i, j := 0, len(w)-2; i < j; i, j = i+2, j-2 {
				w[i], w[i+1], w[j], w[j+1] = w[j], w[j+1], w[i], w[i+1]
			}
		}
		common, trim := c.commonSecondary(), c.lang.table == nil || c.lang.table.TrimsSecondary()
		for trim && len(w) > 0 && w[len(w)-1] == byte(common) && w[len(w)-2] == byte(common>>8) {
			w = w[:len(w)-2]
		}
		dst = append(append(dst, w...), 0, 0)
	}
	if sp.caseLevel {
		w := st.caseLevel
		if sp.caseFirst == "upper" && sp.version != FirstCollator {
			for i, x := range w {
				w[i] = caseLower + caseUpper - x
			}
		}
		dst = append(appendCommonTrimmed(dst, w, caseLower), 0)
	}
	if sp.strength >= 3 {
		w := st.tertiary
		switch {
		case sp.caseFirst == "upper" && c.lang.table != nil:
			dst = append(appendCases(dst, st.cases, w), 0)
		case sp.caseFirst == "upper":
			for i, t := range w {
				w[i] = upperFirst(t)
			}
			dst = append(append(dst, w...), 0)
		case c.lang.table != nil && !c.lang.table.TrimsTertiary():
			dst = append(append(dst, w...), 0)
		default:
			dst = append(appendCommonTrimmed(dst, w, c.commonTertiary()), 0)
		}
	}
	if c.hasQuaternary() {
		dst = append(append(dst, st.quaternary...), 0)
	}
	if sp.strength >= 5 {
		st.rewrite = norm.NFD.Append(st.rewrite[:0], s...)
		dst = append(dst, st.rewrite...)
	}
	return dst
}

// hasQuaternary reports whether a fourth level can distinguish strings.
func (c *Collation) hasQuaternary() bool {
	return c.spec.strength >= 4 && (c.lang.kana || c.spec.alternate == "shifted")
}

// appendCommonTrimmed appends the weights w of one level, of one byte each, without those at the end that equal the
// common one: they would not change the order of keys.
func appendCommonTrimmed(dst, w []byte, common byte) []byte {
	n := len(w)
	for n > 0 && w[n-1] == common {
		n--
	}
	return append(dst, w[:n]...)
}

// isUpper reports whether a third-level weight of the engine is that of a capital.
func isUpper(t byte) bool { return t >= 8 && t <= 12 }

// upperFirst moves the third-level weights of capitals before the others.
func upperFirst(t byte) byte {
	if isUpper(t) {
		return t - 6
	}
	return t + 16
}

// Weights of the case level.
const (
	caseLower = 1
	caseUpper = 2
)

// runs cuts s into variable characters, numbers and plain text.
func (c *Collation) runs(s []byte, st *collateState) {
	shifted, numeric := c.spec.alternate == "shifted", c.spec.numericOrdering
	start, afterVariable := 0, false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case shifted && c.variable(r):
			c.plainText(s[start:i], st)
			st.quaternary = appendRank(st.quaternary, r)
			afterVariable = true
			i += n
			start = i
		case shifted && afterVariable && unicode.Is(unicode.M, r):
			i += n // a mark on an ignored character is ignored too
			start = i
		case numeric && r >= '0' && unicode.Is(unicode.Nd, r):
			c.plainText(s[start:i], st)
			i += c.number(s[i:], st)
			start, afterVariable = i, false
		default:
			afterVariable = false
			i += n
		}
	}
	c.plainText(s[start:], st)
}

// variable reports whether alternate: "shifted" ignores the character r on levels 1 to 3: space and, if maxVariable
// is "punct", punctuation and the no-break space. Manual: reference/collation#collation-document-fields (alternate,
// maxVariable).
func (c *Collation) variable(r rune) bool {
	if r == 0xa0 {
		return c.spec.maxVariable == "punct"
	}
	if c.lang.table != nil && c.lang.table.Variable(r) {
		return c.spec.maxVariable == "punct"
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) || c.spec.maxVariable == "punct" && unicode.IsPunct(r)
}

// appendRank appends the weight of a space or punctuation character on the fourth level: three bytes that sort
// before 0xff, which is there the weight of ordinary characters.
func appendRank(dst []byte, r rune) []byte {
	return append(dst, 1+byte(r>>14), 1+byte(r>>7&0x7f), 1+byte(r&0x7f))
}

// plainText adds the weights that the engine computes for s.
func (c *Collation) plainText(s []byte, st *collateState) {
	if len(s) == 0 {
		return
	}
	if c.lang.kana {
		s = c.foldKana(s, st)
	}
	if c.spec.caseLevel {
		st.caseWeights(s)
	}
	if st.engine == nil {
		st.engine = c.lang.newCollator()
	}
	if c.lang.table != nil {
		c.tailoredText(s, st)
		return
	}
	st.buf.Reset()
	n := st.split(st.engine.Key(&st.buf, s))
	if !c.lang.kana {
		c.addQuaternaries(n, st)
	}
}

// addQuaternaries adds the weights of n ordinary characters on the fourth level, if the collation has one. Each is
// 0xff, above those of spaces and punctuation.
func (c *Collation) addQuaternaries(n int, st *collateState) {
	if c.hasQuaternary() {
		for range n {
			st.quaternary = append(st.quaternary, 0xff)
		}
	}
}

// split copies the three levels of a key of the engine into the state. It returns the number of primary weights.
func (st *collateState) split(key []byte) (primaries int) {
	p, s, t, primaries := tailoring.Levels(key)
	st.primary, st.secondary, st.tertiary = append(st.primary, p...), append(st.secondary, s...), append(st.tertiary, t...)
	return primaries
}

// caseWeights adds a weight for each base letter.
func (st *collateState) caseWeights(s []byte) {
	st.rewrite = norm.NFD.Append(st.rewrite[:0], s...)
	for _, r := range string(st.rewrite) {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			st.caseLevel = append(st.caseLevel, caseUpper)
		case unicode.Is(unicode.M, r) || unicode.Is(unicode.C, r):
		default:
			st.caseLevel = append(st.caseLevel, caseLower)
		}
	}
	if len(st.caseLevel) > 0 && cap(st.rewrite) > 1<<16 {
		st.rewrite = nil
	}
}

// foldKana returns s with katakana replaced by hiragana, which Japanese orders alike on levels 1 to 3. It adds the
// difference as weights of level 4.
func (c *Collation) foldKana(s []byte, st *collateState) []byte {
	st.rewrite = st.rewrite[:0]
	for _, r := range string(s) {
		q := byte(0)
		if r >= 0x30a1 && r <= 0x30f6 {
			r -= 0x60
			q = 0xfe
		} else if r >= 0x3041 && r <= 0x3096 {
			q = 0xfd
		}
		st.rewrite = utf8.AppendRune(st.rewrite, r)
		if q != 0 && c.hasQuaternary() {
			st.quaternary = append(st.quaternary, q)
		}
	}
	return bytes.Clone(st.rewrite) // rewrite is used for the case level too
}

// number adds the weights of the digits with which s begins, for numericOrdering: the weight of the digit zero, a
// mark, the count of digits after leading zeros and these digits, so that longer numbers are greater. It returns the
// size of these digits in bytes.
func (c *Collation) number(s []byte, st *collateState) (size int) {
	zero := rootASCII()['0']
	begin := func() int {
		st.primary = append(st.primary, zero.primary[0], zero.primary[1], numberMark, 0)
		st.secondary = binary.BigEndian.AppendUint16(st.secondary, c.commonSecondary())
		st.tertiary = append(st.tertiary, c.commonTertiary())
		st.cases = append(st.cases, byte(tailoring.LowerCase))
		c.addQuaternaries(1, st)
		return len(st.primary) - 1
	}
	count := begin()
	for size < len(s) {
		r, n := utf8.DecodeRune(s[size:])
		if !unicode.Is(unicode.Nd, r) {
			break
		}
		size += n
		d := digitValue(r)
		if d == 0 && st.primary[count] == 0 {
			continue
		}
		if st.primary[count] == numberDigitsMax {
			count = begin()
		}
		st.primary[count]++
		st.primary = append(st.primary, d+1)
	}
	return size
}

// digitValue returns the value 0 to 9 of a decimal digit of any script. Unicode has digits in blocks of ten, and two
// blocks may be adjacent.
func digitValue(r rune) byte {
	if r <= '9' {
		return byte(r - '0')
	}
	zero := r
	for unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return byte((r - zero) % 10)
}

// posixWeights adds the weights of s for the locale en_US_POSIX: on the first level it orders all characters by code
// point.
func (c *Collation) posixWeights(s []byte, st *collateState) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if i += n; c.spec.alternate == "shifted" && c.variable(r) {
			st.quaternary = appendRank(st.quaternary, r)
			continue
		}
		st.primary = append(st.primary, 1+byte(r>>14), 1+byte(r>>7&0x7f), 1+byte(r&0x7f))
		st.secondary = append(st.secondary, 0, commonSecondary)
		st.tertiary = append(st.tertiary, commonTertiary)
		c.addQuaternaries(1, st)
	}
}

// asciiWeight holds the weights of one ASCII character in the root order, the order without rules of a language.
type asciiWeight struct {
	primary              [2]byte
	tertiary             byte
	ignored, punct, wide bool // no weights; variable; not expressible here
}

// rootASCII is computed once from the engine.
var rootASCII = sync.OnceValue(func() *[utf8.RuneSelf]asciiWeight {
	var table [utf8.RuneSelf]asciiWeight
	var st collateState
	engine := collate.New((&language{}).tag)
	for i := range table {
		st.primary, st.secondary, st.tertiary = st.primary[:0], st.secondary[:0], st.tertiary[:0]
		st.buf.Reset()
		st.split(engine.Key(&st.buf, []byte{byte(i)}))
		w := &table[i]
		w.punct = unicode.IsSpace(rune(i)) || unicode.IsPunct(rune(i))
		switch {
		case len(st.primary) == 0 && len(st.secondary) == 0 && len(st.tertiary) == 0:
			w.ignored = true
		case len(st.primary) == 2 && len(st.tertiary) == 1 && bytes.Equal(st.secondary, []byte{0, commonSecondary}):
			w.primary, w.tertiary = [2]byte(st.primary), st.tertiary[0]
		default:
			w.wide = true
		}
	}
	return &table
})

// asciiWeights adds the weights of an ASCII string from a table, without the engine, for languages without special
// rules for ASCII. If s contains a character that the table cannot express (beyond ASCII, or ignored by alternate:
// "shifted"), it returns false and adds nothing.
func (c *Collation) asciiWeights(s []byte, st *collateState) bool {
	table := rootASCII()
	shifted := c.spec.alternate == "shifted"
	for _, b := range s {
		if b >= utf8.RuneSelf || table[b].wide || shifted && table[b].punct {
			return false
		}
	}
	for _, b := range s {
		w := &table[b]
		if !w.ignored {
			st.primary = append(st.primary, w.primary[0], w.primary[1])
			st.secondary = append(st.secondary, 0, commonSecondary)
			st.tertiary = append(st.tertiary, w.tertiary)
			c.addQuaternaries(1, st)
		}
		if c.spec.caseLevel && b >= ' ' && b != 0x7f {
			if b >= 'A' && b <= 'Z' {
				st.caseLevel = append(st.caseLevel, caseUpper)
			} else {
				st.caseLevel = append(st.caseLevel, caseLower)
			}
		}
	}
	return true
}
