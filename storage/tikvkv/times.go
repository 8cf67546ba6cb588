package tikvkv

import "github.com/cantledb/cantle/storage"

// A time of the oracle is milliseconds since 1970 and a counter within the millisecond.
const (
	counterBits = 18
	counterMax  = 1<<counterBits - 1
	// placeBits number the log records of a commit, below the counter.
	placeBits = 4
	placeMax  = 1<<placeBits - 1
	// milliShift is where the milliseconds of a second begin in a Timestamp.
	milliShift = counterBits + placeBits
)

// timestampOf is an oracle's time as a storage.Timestamp: the second, the millisecond in it,
// the counter, and the last place. It keeps order and loses nothing.
func timestampOf(ts uint64) storage.Timestamp {
	milli, counter := ts>>counterBits, ts&counterMax
	return storage.Timestamp((milli/1000)<<32 | (milli%1000)<<milliShift | counter<<placeBits | placeMax)
}

// oracleOf is the newest oracle's time that is not after a Timestamp: one that does not
// end in the last place lies between two of them.
func oracleOf(t storage.Timestamp) uint64 {
	milli, counter := uint64(t)>>milliShift&1023, uint64(t)>>placeBits&counterMax
	second := uint64(t) >> 32
	if milli > 999 { // after the last millisecond of the second
		return (second*1000+999)<<counterBits | counterMax
	}
	ts := (second*1000+milli)<<counterBits | counter
	if t&placeMax != placeMax && ts > 0 {
		ts--
	}
	return ts
}

// later is an oracle's time moved on by milliseconds.
func later(ts uint64, milli int64) uint64 { return ts + uint64(milli)<<counterBits }

// earlier is an oracle's time moved back by milliseconds, not before 0.
func earlier(ts uint64, milli int64) uint64 {
	if d := uint64(milli) << counterBits; d < ts {
		return ts - d
	}
	return 0
}
