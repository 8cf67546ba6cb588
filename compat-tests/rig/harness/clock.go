package harness

import (
	"time"
	"unsafe"
)

// moment is the memory layout of a time.Time with a reading of the monotonic clock: the highest bit of wall
// is 1, followed by 33 bits of seconds since 1885 and 30 bits of nanoseconds.
type moment struct {
	wall uint64
	mono int64
	loc  *time.Location
}

// Stepped returns the present time with its wall clock off by the given duration, as after an operator has set the
// clock; the monotonic reading stays right. (Time.Add moves both. In a bubble of synctest a time has no monotonic
// reading: Stepped adds one, from the clock of the bubble.)
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
