package tailoring

import (
	"encoding/binary"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Case is the case of a string, in the order of caseFirst: "upper".
type Case byte

// The cases.
const (
	UpperCase Case = iota + 1
	MixedCase
	LowerCase
)

// Weights are the weights of a tailored string by level, as bytes of a sort key: primary weights of different sizes, of
// which none begins another, secondary weights of two bytes, tertiary weights of one.
type Weights struct {
	Primary, Secondary, Tertiary []byte
	Count                        int // of primary weights
	Case                         Case
}

// Table holds the tailored strings of a locale. Immutable and safe for concurrent use.
type Table struct {
	start    map[rune]*branch
	blocks   []block
	variable map[rune]bool
	// lowSecondary and lowTertiary report that a weight is below the common one of the level.
	lowSecondary, lowTertiary bool
}

// branch is a tailored string, or the beginning of one.
type branch struct {
	next    map[rune]*branch
	weights *Weights
}

func (t *Table) define(s string, w *Weights) {
	b, next := (*branch)(nil), t.start
	for _, r := range s {
		if b = next[r]; b == nil {
			b = &branch{next: map[rune]*branch{}}
			next[r] = b
		}
		next = b.next
	}
	b.weights = w
	for i := 0; i < len(w.Secondary); i += 2 {
		t.lowSecondary = t.lowSecondary || binary.BigEndian.Uint16(w.Secondary[i:]) < Secondary(CommonSecondary)
	}
	for _, x := range w.Tertiary {
		t.lowTertiary = t.lowTertiary || x < Tertiary(CommonTertiary)
	}
	if r, n := utf8.DecodeRuneInString(s); n == len(s) && w.Count == 1 && w.Primary[0] < punctuationEnd {
		t.variable[r] = true
	}
}

// punctuationEnd is the first byte of the primary weights behind those of punctuation.
const punctuationEnd = 3

// TrimsSecondary reports whether the common secondary weight is the least one, so that a key need not hold it at the end
// of the level.
func (t *Table) TrimsSecondary() bool { return !t.lowSecondary }

// TrimsTertiary is TrimsSecondary for tertiary weights.
func (t *Table) TrimsTertiary() bool { return !t.lowTertiary }

// Variable reports whether r is tailored as punctuation, which alternate: "shifted" ignores.
func (t *Table) Variable(r rune) bool { return t.variable[r] }

// marksMax is the number of marks behind a character among which one of its contraction is found.
const marksMax = 32

// Match finds the longest tailored string that begins at text[i], where text is in normalization form D. It returns nil if
// there is none. If marks stand between the characters of the string that do not interact with them, Match moves these
// marks behind it in text. The second result is the end of the string in text.
//
// Source: Unicode Technical Standard 10, S2.1.
func (t *Table) Match(text []byte, i int) (w *Weights, _ int) {
	r, n := utf8.DecodeRune(text[i:])
	b := t.start[r]
	if b == nil {
		return nil, i
	}
	at, end := b, i+n // the longest match so far; a first character alone that is not tailored is one, too
	for j := end; ; j += n {
		if b.weights != nil {
			w, at, end = b.weights, b, j
		}
		r, n = utf8.DecodeRune(text[j:])
		if b = b.next[r]; b == nil || n == 0 {
			break
		}
	}
	if len(at.next) == 0 {
		return w, end
	}
	last := uint8(0) // the combining class of the mark in front
	for j, marks := end, 0; j < len(text) && marks < marksMax; marks++ {
		class := norm.NFD.Properties(text[j:]).CCC()
		if class == 0 {
			break
		}
		r, n := utf8.DecodeRune(text[j:])
		if next := at.next[r]; class > last && next != nil && next.weights != nil {
			var mark [utf8.UTFMax]byte
			copy(mark[:], text[j:j+n])
			copy(text[end+n:j+n], text[end:j])
			copy(text[end:], mark[:n])
			at, w, end = next, next.weights, end+n
		} else {
			last = class
		}
		j += n
	}
	return w, end
}

// Plain reports whether the table holds no string, so that all weights are those of the root order.
func (t *Table) Plain() bool { return len(t.start) == 0 }

// AppendPrimary appends the bytes of a primary weight of the root order, at the place that the order of scripts gives it.
func (t *Table) AppendPrimary(dst []byte, p uint32) []byte {
	for _, b := range t.blocks {
		if p >= b.from && p < b.to {
			p += b.shift
			break
		}
	}
	if p <= 0x7fff {
		return append(dst, byte(p>>8), byte(p))
	}
	return append(dst, 0x80|byte(p>>16), byte(p>>8), byte(p))
}

// Secondary returns the secondary weight that stands for one of the root order.
func Secondary(w uint16) uint16 { return w * secondaryStep }

// Tertiary returns the tertiary weight that stands for one of the root order.
func Tertiary(w byte) byte { return w * tertiaryStep }
