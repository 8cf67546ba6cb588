package concern

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// stalenessMin is the least maxStalenessSeconds that a client may set. Spec: max-staleness.
const stalenessMin = 90

// ParseReadPreference reports whether a $readPreference admits a read from a secondary, which is each mode but primary:
// the driver has chosen the server. Its tags and its staleness have no effect. Errors are those of a mongos. Manual: core/read-preference, core/read-preference-staleness. Spec:
// server-selection. Errors: BadValue (2), TypeMismatch (14), MaxStalenessOutOfRange (160), IDLFailedToParse (40414),
// IDLDuplicateField (40413).
func ParseReadPreference(v bson.Value) (secondary bool, err error) {
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return false, mongoerr.WrongType("$readPreference", v.Type.String(), "object")
	}
	if name, twice := d.Repeated(); twice {
		return false, mongoerr.RepeatedField("$readPreference" + "." + string(name))
	}
	var mode string
	var staleness int64
	hasMode, tagged := false, false
	for it := d.Iter(); it.Next(); {
		v := it.Value
		switch string(it.Name) {
		case "mode":
			if mode, hasMode = v.Str(); !hasMode {
				return false, mongoerr.WrongType("$readPreference.mode", v.Type.String(), "string")
			}
		case "tags":
			sets, ok := v.Array()
			if !ok {
				return false, mongoerr.WrongType("$readPreference.tags", v.Type.String(), "array")
			}
			for set := range sets.Values() {
				tags, ok := set.Doc()
				if !ok || set.Type != bson.TypeDocument {
					return false, mongoerr.WrongType("$readPreference.tags", set.Type.String(), "object")
				}
				tagged = tagged || !tags.IsEmpty()
			}
		case "maxStalenessSeconds":
			if staleness, ok = v.TruncInt64(); !ok {
				return false, mongoerr.WrongType("$readPreference.maxStalenessSeconds", v.Type.String(), "long", "int", "decimal", "double")
			}
			switch {
			case staleness < 0:
				return false, mongoerr.New(mongoerr.BadValue, "$readPreference.maxStalenessSeconds must not be negative, but is %d", staleness)
			case staleness > 0 && staleness < stalenessMin:
				return false, mongoerr.New(mongoerr.MaxStalenessOutOfRange, "maxStalenessSeconds value can not be less than %d", stalenessMin)
			}
		}
	}
	switch {
	case !hasMode:
		return false, mongoerr.MissingField("$readPreference.mode")
	case mode == "primary" && tagged:
		return false, mongoerr.New(mongoerr.BadValue, "Only empty tags are allowed with primary read preference")
	case mode == "primary" && staleness > 0:
		return false, mongoerr.New(mongoerr.BadValue, "maxStalenessSeconds can not be set for the primary mode")
	}
	switch mode {
	case "primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest":
		return mode != "primary", nil
	}
	return false, mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '$readPreference.mode' is not a valid value.", mode)
}
