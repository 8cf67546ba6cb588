package plan

import "github.com/cantledb/cantle/collection/match"

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
