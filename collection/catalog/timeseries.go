package catalog

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// The documents of a time-series collection are stored in the order of their time. A
// position is the time in milliseconds, shifted so that no position is negative. The low bits
// leave room for documents with the same _id and the same time, since _id is not unique.
// Manual: core/timeseries-collections.
const (
	timeBits = 52
	sameTime = 64 - timeBits
)

// SameTimeMax is the maximum number of documents with the same _id and the same time.
const SameTimeMax = 1 << sameTime

// half is the shift of times. firstTime and lastTime, in milliseconds since 1970, are the ends of the times with
// positions of their own: all times before and after share theirs.
const (
	half      = int64(1) << (timeBits - 1)
	firstTime = 1 - half
	lastTime  = half - 1
)

// TimePosition returns the first position for documents with the time ms, in milliseconds since 1970. Times out of
// the range of the bits share the first or the last position.
func TimePosition(ms int64) keyspace.Hash {
	return keyspace.Hash(min(max(ms, firstTime), lastTime)+half) << sameTime
}

// EqualTime reports whether two positions of documents are those of the same time.
func EqualTime(a, b keyspace.Hash) bool { return a>>sameTime == b>>sameTime }

// SharesTime reports whether documents of different times can have the position h.
func SharesTime(h keyspace.Hash) bool {
	return EqualTime(h, TimePosition(firstTime)) || EqualTime(h, TimePosition(lastTime))
}

// Times is an interval of times in milliseconds since 1970, with both ends. math.MinInt64 and math.MaxInt64 are the
// first and the last time of all.
type Times struct{ From, To int64 }

// IsExact reports whether documents of other times cannot have the positions of these times.
func (t Times) IsExact() bool {
	return (t.From == math.MinInt64 || t.From > firstTime && t.From <= lastTime) && (t.To == math.MaxInt64 || t.To >= firstTime && t.To < lastTime)
}

// TimeRanges returns the ranges of positions of documents with certain times. The ranges ascend and do not touch.
func TimeRanges(times []Times) []shard.Range {
	rs := make([]shard.Range, len(times))
	for i, t := range times {
		if t.From > firstTime {
			rs[i].Lo = shard.HashPosition(TimePosition(t.From))
		}
		if t.To < lastTime {
			rs[i].Hi = shard.HashPosition(TimePosition(t.To) + SameTimeMax)
		}
	}
	return mergeRanges(rs)
}

// timePosition returns the first position of a document of a time-series collection.
// Errors: BadValue (2) when the document has no time.
func (o *Options) timePosition(doc bson.Raw) (keyspace.Hash, error) {
	ms, ok := doc.Get(o.TimeField).DateTime()
	if !ok {
		return 0, mongoerr.New(mongoerr.BadValue, "'%s' must be present and contain a valid BSON UTC datetime value", o.TimeField)
	}
	return TimePosition(ms), nil
}

// AllowsPosition reports whether a document may be stored at a position. Capped collections accept any.
func (c *Collection) AllowsPosition(doc bson.Raw, h keyspace.Hash) bool {
	if c.Options.Capped {
		return true
	}
	want, err := c.Position(doc)
	if c.Options.TimeSeries != nil {
		return err == nil && want>>sameTime == h>>sameTime
	}
	return err == nil && want == h
}
