package harness

import (
	"time"
	"unsafe"
)

// moment is a time.Time that has a reading of the monotonic clock: from its highest bit down
// wall has a one, 33 bits of seconds since 1885 and 30 bits of nanoseconds.
type moment struct {
	wall uint64
	mono int64
	loc  *time.Location
}

// Stepped is the present time on a clock on the wall that is off by so much, as a clock is
// that was set: what has passed since an earlier time is told by the monotonic clock, which
// nobody sets. (Time.Add moves both, and in a bubble of synctest there is no other.)
func Stepped(by time.Duration) time.Time {
	now := time.Now()
	shown := now.Round(0).Add(by)
	since := shown.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	out := now
	m := (*moment)(unsafe.Pointer(&out))
	if m.wall>>63 == 0 {
		m.mono = now.UnixNano() // in a bubble
	}
	m.wall, m.loc = 1<<63|uint64(since)<<30|uint64(shown.Nanosecond()), time.Local
	if !out.Round(0).Equal(shown) {
		panic("a time.Time is made otherwise now")
	}
	return out
}
