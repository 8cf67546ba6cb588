package storage

import "strconv"

// Timestamp is a point in the order of all commits of a store. Every commit that writes gets its own, greater than
// all before it, also across restarts; 0 means the newest state. A commit with several log records takes as many
// timestamps: see Store.ReadLog.
//
// The high 32 bits are seconds since 1970 if the engine has a clock, and the low 32
// bits count within the second: the layout of a BSON timestamp, so that operation
// times, cluster times and resume points need no conversion. Seconds follow the
// clock but never step back: the order of timestamps is more important than the
// clock.
type Timestamp uint64

// MakeTimestamp is the inverse of Seconds and Increment.
func MakeTimestamp(seconds, increment uint32) Timestamp {
	return Timestamp(seconds)<<32 | Timestamp(increment)
}

// Seconds returns the high half: seconds since 1970.
func (t Timestamp) Seconds() uint32 { return uint32(t >> 32) }

// Increment returns the low half: the counter within the second.
func (t Timestamp) Increment() uint32 { return uint32(t) }

// String prints seconds and increment, separated by a colon.
func (t Timestamp) String() string {
	return strconv.FormatUint(uint64(t.Seconds()), 10) + ":" + strconv.FormatUint(uint64(t.Increment()), 10)
}
