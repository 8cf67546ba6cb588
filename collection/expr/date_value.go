package expr

import (
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
)

// dateOfValue returns the instant of a date, a timestamp or an ObjectId, in milliseconds since 1970; ok is
// false for other types.
func dateOfValue(v bson.Value) (ms int64, ok bool) {
	switch v.Type {
	case bson.TypeDateTime:
		return v.DateTime()
	case bson.TypeTimestamp:
		t, _, _ := v.Timestamp()
		return int64(t) * msPerSecond, true
	case bson.TypeObjectID:
		return int64(int32(binary.BigEndian.Uint32(v.Data))) * msPerSecond, true
	}
	return 0, false
}
