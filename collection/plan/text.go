package plan

import (
	"strings"

	"github.com/cantledb/cantle/collection/match"
)

// intervalText returns an interval as explain prints it: "[5, 10.5)".
func intervalText(iv match.Interval) string {
	open, end := "(", ")"
	if iv.LoInclusive {
		open = "["
	}
	if iv.HiInclusive {
		end = "]"
	}
	return open + iv.Lo.String() + ", " + iv.Hi.String() + end
}

// turned returns the text of an interval of index bounds as explain prints it for a scan in reverse: "[5,
// 10.5)" becomes "(10.5, 5]". A text whose values could contain the separator is returned unchanged.
func turned(text string) string {
	open, end := text[:1], text[len(text)-1:]
	lo, hi, ok := strings.Cut(text[1:len(text)-1], ", ")
	if !ok || strings.Contains(hi, ", ") {
		return text
	}
	swap := map[string]string{"[": "]", "(": ")", "]": "[", ")": "("}
	return swap[end] + hi + ", " + lo + swap[open]
}
