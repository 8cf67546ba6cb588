package mql

import (
	"encoding/binary"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/cantledb/cantle/collection/tailoring"
)

// commonSecondary returns the weight of most characters on the second level.
func (c *Collation) commonSecondary() uint16 {
	if c.lang.table != nil {
		return tailoring.Secondary(commonSecondary)
	}
	return commonSecondary
}

// commonTertiary returns the weight of most characters on the third level.
func (c *Collation) commonTertiary() byte {
	if c.lang.table != nil {
		return tailoring.Tertiary(commonTertiary)
	}
	return commonTertiary
}

// tailoredText adds the weights of s by a table of package tailoring: those of tailored strings from the table, those of
// the text between them from the engine, which has the root order.
func (c *Collation) tailoredText(s []byte, st *collateState) {
	table := c.lang.table
	if table.Plain() {
		c.rootText(s, st)
		return
	}
	st.tailored = norm.NFD.Append(st.tailored[:0], s...)
	text, begin := st.tailored, 0 // begin of the text that is not tailored
	for i := 0; i < len(text); {
		w, end := table.Match(text, i)
		if w == nil {
			_, n := utf8.DecodeRune(text[i:])
			i += n
			continue
		}
		c.rootText(text[begin:i], st)
		i, begin = end, end
		st.primary = append(st.primary, w.Primary...)
		st.secondary = append(st.secondary, w.Secondary...)
		st.tertiary = append(st.tertiary, w.Tertiary...)
		for range w.Tertiary {
			st.cases = append(st.cases, byte(w.Case))
		}
		c.addQuaternaries(w.Count, st)
	}
	c.rootText(text[begin:], st)
	if cap(st.tailored) > 1<<16 {
		st.tailored = nil
	}
}

// rootText adds the weights of text that the table does not tailor.
func (c *Collation) rootText(s []byte, st *collateState) {
	if len(s) == 0 {
		return
	}
	n := 0
	st.buf.Reset()
	tailoring.Split(st.engine.Key(&st.buf, s),
		func(w uint32) {
			st.primary = c.lang.table.AppendPrimary(st.primary, w)
			n++
		},
		func(w uint16) { st.secondary = binary.BigEndian.AppendUint16(st.secondary, tailoring.Secondary(w)) },
		func(w byte) {
			st.tertiary = append(st.tertiary, tailoring.Tertiary(w))
			letters := tailoring.LowerCase
			if isUpper(w) {
				letters = tailoring.UpperCase
			}
			st.cases = append(st.cases, byte(letters))
		})
	c.addQuaternaries(n, st)
}

// appendCases appends the third level for caseFirst: "upper": in front of each weight the case of its string.
func appendCases(dst, cases, tertiary []byte) []byte {
	for i, t := range tertiary {
		dst = append(dst, cases[i], t)
	}
	return dst
}
