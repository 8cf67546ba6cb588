package regex

import "unicode"

// cluster matches \X, an extended grapheme cluster, by the rules of UAX #29 for line ends, Hangul syllables, combining
// marks, emoji sequences and flags. Go has no tables of the breaking property itself, so that the classes are those of
// general categories and blocks.
func (m *machine) cluster(pos int) (int, bool) {
	if pos >= len(m.text) {
		return pos, false
	}
	r, size := m.decode(pos)
	pos += size
	if r == '\r' && pos < len(m.text) && m.text[pos] == '\n' {
		return pos + 1, true
	}
	if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
		return pos, true
	}
	flags := 0
	if isFlag(r) {
		flags = 1
	}
	for pos < len(m.text) {
		next, size := m.decode(pos)
		switch {
		case unicode.Is(unicode.M, next) || next == 0x200d || next == 0x200c || next >= 0x1f3fb && next <= 0x1f3ff:
		case r == 0x200d && pictograph(next):
		case flags == 1 && isFlag(next):
			flags++
		case hangulJoins(r, next):
		default:
			return pos, true
		}
		r = next
		pos += size
	}
	return pos, true
}

func isFlag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func pictograph(r rune) bool {
	return r >= 0x1f300 && r <= 0x1faff || r >= 0x2600 && r <= 0x27bf || r >= 0x2190 && r <= 0x21ff || r >= 0x2300 && r <= 0x23ff
}

// hangulJoins reports whether two Hangul characters belong to one syllable.
func hangulJoins(a, b rune) bool {
	leading := func(r rune) bool { return r >= 0x1100 && r <= 0x115f || r >= 0xa960 && r <= 0xa97c }
	vowel := func(r rune) bool { return r >= 0x1160 && r <= 0x11a7 || r >= 0xd7b0 && r <= 0xd7c6 }
	trailing := func(r rune) bool { return r >= 0x11a8 && r <= 0x11ff || r >= 0xd7cb && r <= 0xd7fb }
	syllable := func(r rune) bool { return r >= 0xac00 && r <= 0xd7a3 }
	open := func(r rune) bool { return syllable(r) && (r-0xac00)%28 == 0 }
	return leading(a) && (leading(b) || vowel(b) || syllable(b)) ||
		(vowel(a) || open(a)) && (vowel(b) || trailing(b)) || (trailing(a) || syllable(a)) && trailing(b)
}
