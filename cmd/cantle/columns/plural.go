package columns

import "fmt"

// Plural returns a number and the noun what in singular or plural, such as "1 fault" or "2 faults".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
