package plan

import (
	"strings"

	"github.com/cantledb/cantle/collection/match"
)

// intervalText prints an interval as explain does: "[5, 10.5)".
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

// turned prints an interval for a scan that reads it from its end: "(10.5, 5]".
// Texts that could hold the separator themselves stay as they are.
func turned(text string) string {
	open, end := text[:1], text[len(text)-1:]
	lo, hi, ok := strings.Cut(text[1:len(text)-1], ", ")
	if !ok || strings.Contains(hi, ", ") {
		return text
	}
	swap := map[string]string{"[": "]", "(": ")", "]": "[", ")": "("}
	return swap[end] + hi + ", " + lo + swap[open]
}
