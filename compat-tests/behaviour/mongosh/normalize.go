package mongosh

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Patterns of parts of the shell's output that differ from run to run.
var (
	objectIDs  = regexp.MustCompile(`ObjectId\('[0-9a-f]{24}'\)`)
	uuids      = regexp.MustCompile(`UUID\('[0-9a-f-]{36}'\)`)
	dates      = regexp.MustCompile(`ISODate\('([^']+)'\)`)
	timestamps = regexp.MustCompile(`Timestamp\(\{ t: (\d+), i: \d+ \}\)`)
	ports      = regexp.MustCompile(`(127\.0\.0\.1|localhost):\d+`)
)

// nowWindow is the distance from the present within which a date in the output counts as "now" and is replaced. Dates
// that a script has written itself are compared as they are.
const nowWindow = 48 * time.Hour

// normalize replaces the parts of an output that differ from run to run. The same ObjectId or UUID gets the same
// number everywhere in one output.
func normalize(text string, now time.Time) string {
	text = objectIDs.ReplaceAllStringFunc(text, numbered("ObjectId"))
	text = uuids.ReplaceAllStringFunc(text, numbered("UUID"))
	text = dates.ReplaceAllStringFunc(text, func(s string) string {
		d, err := time.Parse(time.RFC3339Nano, dates.FindStringSubmatch(s)[1])
		if err != nil || d.Sub(now).Abs() > nowWindow {
			return s
		}
		return "ISODate(now)"
	})
	text = timestamps.ReplaceAllStringFunc(text, func(s string) string {
		seconds, err := strconv.ParseInt(timestamps.FindStringSubmatch(s)[1], 10, 64)
		if err != nil || time.Unix(seconds, 0).Sub(now).Abs() > nowWindow {
			return s
		}
		return "Timestamp(now)"
	})
	return ports.ReplaceAllString(text, "$1:port")
}

// numbered returns a function that replaces distinct values, such as ObjectIds, by numbers in the order of their
// first occurrence.
func numbered(kind string) func(string) string {
	seen := map[string]int{}
	return func(s string) string {
		n, ok := seen[s]
		if !ok {
			n = len(seen) + 1
			seen[s] = n
		}
		return fmt.Sprintf("%s(%d)", kind, n)
	}
}
