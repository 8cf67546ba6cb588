package concern

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// ParseRead returns the level of a read concern, and its times afterClusterTime and atClusterTime, 0 if absent.
// Manual: reference/read-concern.
func ParseRead(v bson.Value) (level string, after, at storage.Timestamp, err error) {
	if v.IsNullish() {
		return "", 0, 0, nil
	}
	d, ok := v.Doc()
	if !ok {
		return "", 0, 0, mongoerr.WrongType("readConcern", v.Type.String(), "object")
	}
	if name, twice := d.Repeated(); twice {
		return "", 0, 0, mongoerr.RepeatedField("readConcern" + "." + string(name))
	}
	for it := d.Iter(); it.Next(); {
		v := it.Value
		switch string(it.Name) {
		case "level":
			if v.IsNullish() {
				break
			}
			if v.Type != bson.TypeString {
				return "", 0, 0, mongoerr.WrongType("readConcern.level", v.Type.String(), "string")
			}
			level, _ = v.Str()
			switch level {
			case "local", "available", "majority", "linearizable", "snapshot":
			default:
				return "", 0, 0, mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field 'readConcern.level' is not a valid value.", level)
			}
		case "afterClusterTime", "atClusterTime":
			t, i, ok := v.Timestamp()
			if !ok {
				return "", 0, 0, mongoerr.WrongType("readConcern."+string(it.Name), v.Type.String(), "timestamp")
			}
			if t == 0 && i == 0 {
				return "", 0, 0, mongoerr.New(mongoerr.InvalidOptions, "%s cannot be a null timestamp", it.Name)
			}
			if string(it.Name) == "atClusterTime" {
				at = storage.MakeTimestamp(t, i)
			} else {
				after = storage.MakeTimestamp(t, i)
			}
		case "provenance":
			if err := checkProvenance("readConcern", v); err != nil {
				return "", 0, 0, err
			}
		case "afterOpTime", "allowTransactionTableSnapshot", "waitLastStableRecoveryTimestamp":
		default:
			return "", 0, 0, mongoerr.UnknownField("readConcern." + string(it.Name))
		}
	}
	switch {
	case at != 0 && level != "snapshot":
		err = mongoerr.New(mongoerr.InvalidOptions, "readConcern.atClusterTime is only allowed with readConcern.level 'snapshot'")
	case after != 0 && (level == "linearizable" || level == "available"):
		err = mongoerr.New(mongoerr.InvalidOptions, "afterClusterTime field can be set only if level is equal to majority, local, or snapshot")
	case at != 0 && after != 0:
		err = mongoerr.New(mongoerr.InvalidOptions, "Can only specify one of atClusterTime and afterClusterTime")
	}
	return level, after, at, err
}

// checkProvenance returns an error if the provenance of a read or write concern is not a value that MongoDB has.
// Errors: TypeMismatch (14), BadValue (2).
func checkProvenance(concern string, v bson.Value) error {
	p, ok := v.Str()
	if !ok && !v.IsNullish() {
		return mongoerr.WrongType(concern+".provenance", v.Type.String(), "string")
	}
	switch p {
	case "", "clientSupplied", "implicitDefault", "customDefault", "getLastErrorDefaults", "internalWriteDefault":
		return nil
	}
	return mongoerr.BadEnum(concern+".provenance", p)
}
