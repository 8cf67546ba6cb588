package flags

import "strings"

// Nearest returns the name that was probably meant by a mistyped one: a name that differs only in case, hyphens or
// underscores, or in fewer than three letters (fewer still if typed is short); "" if no name is near enough.
func Nearest(typed string, names []string) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	best, least := "", min(3, len(plain(typed))/2+1)
	for _, n := range names {
		if d := distance(plain(typed), plain(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance returns the edit distance of a and b: the number of letters that must be inserted, deleted or replaced to
// make one from the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
