package backup

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/storage"
)

var (
	timestampText = regexp.MustCompile(`^(?:Timestamp)?\(?\{?\s*(?:t:)?\s*(\d{9,10})\s*[,:]\s*(?:i:)?\s*(\d{1,10})\s*\}?\)?$`)
	agoText       = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(s|sec|second|m|min|minute|h|hour|d|day|w|week)s?\s+ago$`)
)

// agoUnits are the units of texts such as "10 minutes ago", by their first letters.
var agoUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// ParseMoment parses the text of a moment to which a backup is restored: a point in time, which means the state
// before that second; a timestamp such as an operationTime, which means the state with the commit at that
// timestamp; or "" or "latest" for the newest moment, which is returned as 0.
func ParseMoment(text string, now time.Time) (storage.Timestamp, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "latest" {
		return 0, nil
	}
	if m := timestampText.FindStringSubmatch(text); m != nil {
		t, err := strconv.ParseUint(m[1], 10, 32)
		i, err2 := strconv.ParseUint(m[2], 10, 32)
		if err == nil && err2 == nil {
			return storage.MakeTimestamp(uint32(t), uint32(i)), nil
		}
	}
	at := time.Time{}
	if m := agoText.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseFloat(m[1], 64)
		if err == nil {
			at = now.Add(-time.Duration(n * float64(agoUnits[m[2][0]])))
		}
	} else if ago, ok := strings.CutSuffix(text, "ago"); ok {
		if d, err := time.ParseDuration(strings.TrimSpace(ago)); err == nil {
			at = now.Add(-d)
		}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			at = t
		}
	}
	if at.IsZero() || at.Unix() < 0 || at.Unix() > 1<<32-1 {
		return 0, fmt.Errorf("%q is no moment: write it as 2026-11-23T12:00:00Z, as a timestamp such as 1795435200,1, or as \"10 minutes ago\"", text)
	}
	return storage.MakeTimestamp(uint32(at.Unix()), 0), nil
}
