package columns

import (
	"fmt"
	"strings"
)

// Plural returns a number and the noun what in singular or plural, such as "1 fault", "2 faults" or "2 entries".
func Plural[N ~int | ~int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
