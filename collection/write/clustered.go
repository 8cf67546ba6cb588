package write

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// clusteredIDBytesMax is the largest size in bytes of an _id, in its encoding as a key, in a clustered collection.
// Manual: core/clustered-collections#limitations.
const clusteredIDBytesMax = 8 << 20

// textOverhead and binaryOverhead are the bytes that the encoding as a key adds to those of a value: a type, and an
// end or a length.
const (
	textOverhead   = 2
	binaryOverhead = 7
)

// checkClusteredID returns error 5894900 for an _id that is too large for the record key of a clustered collection.
func checkClusteredID(id bson.Value) error {
	if len(id.Data) < clusteredIDBytesMax/2 {
		return nil // no encoding is twice as long as the value
	}
	size := 0
	if s, ok := id.Text(); ok {
		size = len(s) + textOverhead
	} else if _, data, ok := id.Binary(); ok {
		size = len(data) + binaryOverhead
	} else {
		size = len(keystring.Append(nil, id, keystring.Ascending, nil, nil))
	}
	if size > clusteredIDBytesMax {
		return mongoerr.New(5894900, "the _id of a document of a clustered collection may have %d bytes as a key, this one has %d", clusteredIDBytesMax, size)
	}
	return nil
}

// clusteredDuplicate returns the error for a duplicate _id that is NaN or infinite, in a clustered collection; nil
// for other _ids, which are ordinary duplicates. Observed: mongod 8.2 has special codes for these.
func clusteredDuplicate(id bson.Value) error {
	if !id.IsNumber() {
		return nil
	}
	f, ok := id.AsFloat()
	switch {
	case ok && math.IsNaN(f):
		return mongoerr.New(50819, "a document with _id NaN is in the clustered collection already")
	case ok && math.IsInf(f, 0):
		return mongoerr.New(50826, "a document with _id %v is in the clustered collection already", f)
	}
	return nil
}
