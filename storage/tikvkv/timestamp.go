package tikvkv

import "github.com/cantledb/cantle/storage"

// A PD timestamp consists of milliseconds since 1970 and a counter within the millisecond.
const (
	counterBits = 18
	counterMax  = 1<<counterBits - 1
	// recordBits holds the number of a log record within its commit, below the counter.
	recordBits = 4
	recordMax  = 1<<recordBits - 1
	// milliShift is the bit at which the milliseconds within a second begin in a Timestamp.
	milliShift = counterBits + recordBits
)

// timestampOf converts a PD timestamp to a storage.Timestamp: the second, the millisecond in
// it, the counter, and the number of the last log record. The conversion keeps the order and
// loses nothing.
func timestampOf(ts uint64) storage.Timestamp {
	milli, counter := ts>>counterBits, ts&counterMax
	return storage.Timestamp((milli/1000)<<32 | (milli%1000)<<milliShift | counter<<recordBits | recordMax)
}

// oracleOf returns the newest PD timestamp that is not after a Timestamp. A Timestamp that
// does not end in the number of the last log record lies between two PD timestamps.
func oracleOf(t storage.Timestamp) uint64 {
	milli, counter := uint64(t)>>milliShift&1023, uint64(t)>>recordBits&counterMax
	second := uint64(t) >> 32
	if milli > 999 { // after the last millisecond of the second
		return (second*1000+999)<<counterBits | counterMax
	}
	ts := (second*1000+milli)<<counterBits | counter
	if t&recordMax != recordMax && ts > 0 {
		ts--
	}
	return ts
}

// later returns a PD timestamp plus milliseconds.
func later(ts uint64, milli int64) uint64 { return ts + uint64(milli)<<counterBits }

// subMillis returns a PD timestamp minus milliseconds, at least 0.
func subMillis(ts uint64, milli int64) uint64 {
	if d := uint64(milli) << counterBits; d < ts {
		return ts - d
	}
	return 0
}
