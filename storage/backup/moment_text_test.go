package backup

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(s int64, i uint32) storage.Timestamp { return storage.MakeTimestamp(uint32(s), i) }
	for text, want := range map[string]storage.Timestamp{
		"": 0, "latest": 0,
		"2026-11-23T11:59:59Z":              at(now.Unix()-1, 0),
		"2026-11-23T12:59:59.7+01:00":       at(now.Unix()-1, 0),
		"10 minutes ago":                    at(now.Unix()-600, 0),
		"1 day ago":                         at(now.Unix()-86400, 0),
		"1h30m ago":                         at(now.Unix()-5400, 0),
		"1795435200,17":                     at(1795435200, 17),
		"1795435200:17":                     at(1795435200, 17),
		"Timestamp(1795435200, 17)":         at(1795435200, 17),
		"Timestamp({t: 1795435200, i: 17})": at(1795435200, 17),
	} {
		if got, err := ParseMoment(text, now); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "12:00", "-1 minutes ago", "2026-13-01T00:00:00Z", "99999999999,1"} {
		if got, err := ParseMoment(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
