package tailoring

import (
	"fmt"
	"math"
	"unicode"
)

// scripts maps the codes of scripts in rules to their names in package unicode.
var scripts = map[string]string{
	"Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Cher": "Cherokee", "Cyrl": "Cyrillic", "Deva": "Devanagari",
	"Ethi": "Ethiopic", "Geor": "Georgian", "Grek": "Greek", "Gujr": "Gujarati", "Guru": "Gurmukhi", "Hebr": "Hebrew",
	"Khmr": "Khmer", "Knda": "Kannada", "Laoo": "Lao", "Latn": "Latin", "Mlym": "Malayalam", "Mong": "Mongolian",
	"Mymr": "Myanmar", "Orya": "Oriya", "Sinh": "Sinhala", "Taml": "Tamil", "Telu": "Telugu", "Thai": "Thai", "Tibt": "Tibetan",
}

// block is a range of primary weights of the root order that another order of scripts moves: shift is added, modulo 2^32.
type block struct{ from, to, shift uint32 }

// arrange returns the blocks by which the scripts, in this order, come before all others. Latin letters are the first in
// the root order, so Latin as the first of the scripts stays where it is.
func (r *root) arrange(codes []string) ([]block, error) {
	if len(codes) == 0 || codes[0] == "others" {
		return nil, nil
	}
	first := "a"
	if codes[0] == "Latn" {
		codes, first = codes[1:], "α"
	}
	p, _, _ := r.levels(first)
	start := p[0]
	var blocks []block
	to, end := start, start
	for _, code := range codes {
		from, last, err := r.extent(code)
		if err != nil {
			return nil, err
		}
		if from < start { // it is the first anyway
			continue
		}
		blocks = append(blocks, block{from, last, to - from})
		to += last - from
		end = max(end, last)
	}
	return append(blocks, between(blocks, start, end)...), nil
}

// between returns the blocks for the weights from start to end that are in none of the moved blocks: each goes behind the
// moved ones that were behind it.
func between(moved []block, start, end uint32) []block {
	var rest []block
	for at := start; at < end; {
		to, behind, inside := end, uint32(0), uint32(0)
		for _, m := range moved {
			switch {
			case m.from <= at && at < m.to:
				inside = m.to
			case m.from > at:
				to = min(to, m.from)
				behind += m.to - m.from
			}
		}
		if inside != 0 {
			at = inside
			continue
		}
		rest = append(rest, block{at, to, behind})
		at = to
	}
	return rest
}

// extent returns the range of the primary weights of a script's letters and marks.
func (r *root) extent(code string) (from, to uint32, err error) {
	table := unicode.Scripts[scripts[code]]
	if table == nil {
		return 0, 0, fmt.Errorf("unknown script %s", code)
	}
	a, _, _ := r.levels("a")
	from = math.MaxUint32
	see := func(lo, hi, stride rune) {
		for c := lo; c <= hi; c += stride {
			if !unicode.IsLetter(c) && !unicode.IsMark(c) {
				continue
			}
			if p, _, _ := r.levels(string(c)); len(p) > 0 && p[0] >= a[0] && p[0] <= 0x7fff {
				from, to = min(from, p[0]), max(to, p[0]+1)
			}
		}
	}
	for _, x := range table.R16 {
		see(rune(x.Lo), rune(x.Hi), rune(x.Stride))
	}
	for _, x := range table.R32 {
		see(rune(x.Lo), rune(x.Hi), rune(x.Stride))
	}
	if from > to {
		return 0, 0, fmt.Errorf("script %s has no weights", code)
	}
	return from, to, nil
}
