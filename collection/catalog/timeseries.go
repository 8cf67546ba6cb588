package catalog

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
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

// TimePosition returns the first position for documents with the time ms, in milliseconds since 1970. Times out of
// the range of the bits share the first or the last position.
func TimePosition(ms int64) keyspace.Hash {
	const half = int64(1) << (timeBits - 1)
	ms = min(max(ms, 1-half), half-1)
	return keyspace.Hash(ms+half) << sameTime
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
