package catalog

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// The documents of a time-series collection lie in the order of their time: a
// position is the time in milliseconds, moved so that none is negative, and below
// it room for documents of one _id and one time, since _id is not unique.
// Manual: core/timeseries-collections.
const (
	timeBits = 52
	sameTime = 64 - timeBits
)

// SameTimeMax is how many documents can have both _id and time in common.
const SameTimeMax = 1 << sameTime

// TimePosition is the first position of a time; times too far away for the bits
// share the outermost positions.
func TimePosition(ms int64) keyspace.Hash {
	const half = int64(1) << (timeBits - 1)
	ms = min(max(ms, 1-half), half-1)
	return keyspace.Hash(ms+half) << sameTime
}

// timePosition is the first position of a document of a time-series collection.
// Errors: BadValue (2) when it has no time.
func (o *Options) timePosition(doc bson.Raw) (keyspace.Hash, error) {
	ms, ok := doc.Get(o.TimeField).DateTime()
	if !ok {
		return 0, mongoerr.New(mongoerr.BadValue, "'%s' must be present and contain a valid BSON UTC datetime value", o.TimeField)
	}
	return TimePosition(ms), nil
}

// Placed reports that a document may lie at a position. Capped collections have
// no rule.
func (c *Collection) Placed(doc bson.Raw, h keyspace.Hash) bool {
	if c.Options.Capped {
		return true
	}
	want, err := c.Position(doc)
	if c.Options.TimeSeries != nil {
		return err == nil && want>>sameTime == h>>sameTime
	}
	return err == nil && want == h
}
