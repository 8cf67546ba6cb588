package certificates

import (
	"fmt"
	"time"
)

// Days prints a time in whole days.
func Days(d time.Duration) string {
	if n := int(d.Hours() / 24); n != 1 {
		return fmt.Sprintf("%d days", n)
	}
	return "1 day"
}
