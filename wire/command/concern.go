package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// writeConcern is what a client wants to know of its write.
// Manual: reference/write-concern.
type writeConcern struct {
	given      bool
	w          int64
	majority   bool
	tag        string
	journal    bool
	hasJournal bool
}

// durability is what a commit under the concern promises: on disk, unless the
// client asked for no acknowledgement or no journal.
func (w writeConcern) durability(standard storage.Durability) storage.Durability {
	if w.given && (w.hasJournal && !w.journal || w.w == 0 && !w.majority && w.tag == "" && !w.journal) {
		return storage.Buffered
	}
	return standard
}

// unknownTag is the write concern error of a tag set nobody defined.
func (w writeConcern) failure() *mongoerr.Error {
	switch {
	case w.tag != "":
		return mongoerr.New(mongoerr.UnknownReplWriteConcern, "No write concern mode named '%s' found in replica set configuration", w.tag)
	case w.w > 1:
		return mongoerr.New(mongoerr.UnsatisfiableWriteConcern, "Not enough data-bearing nodes")
	}
	return nil
}

func parseWriteConcern(v bson.Value) (w writeConcern, err error) {
	if v.IsNullish() {
		return w, nil
	}
	d, ok := v.Doc()
	if !ok {
		return w, mongoerr.WrongType("writeConcern", v.Type.String(), "object")
	}
	w.given, w.w = true, 1
	for it := d.Iter(); it.Next(); {
		v := it.Value
		switch string(it.Name) {
		case "w":
			switch {
			case v.IsNumber():
				w.w, _ = v.TruncInt64()
				if w.w < 0 || w.w > 50 {
					return w, mongoerr.New(mongoerr.FailedToParse, "w has to be a non-negative number and not greater than 50; found: %d", w.w)
				}
			case v.Type == bson.TypeString:
				s, _ := v.Str()
				w.majority = s == "majority"
				if !w.majority {
					w.tag = s
				}
			case v.Type == bson.TypeDocument:
				w.tag = "tags"
			case v.IsNullish():
			default:
				return w, mongoerr.New(mongoerr.FailedToParse, "w has to be a number, string, or object; found: %s", v.Type)
			}
		case "j", "fsync":
			if v.Type != bson.TypeBool && !v.IsNumber() && !v.IsNullish() {
				return w, mongoerr.New(mongoerr.FailedToParse, "%s must be numeric or a boolean value", it.Name)
			}
			w.journal, w.hasJournal = v.Truthy(), string(it.Name) == "j"
		case "wtimeout":
			if !v.IsNumber() && !v.IsNullish() && v.Type != bson.TypeString {
				return w, mongoerr.New(mongoerr.FailedToParse, "wtimeout must be a number")
			}
		case "provenance", "getLastError":
		default:
			return w, mongoerr.New(mongoerr.FailedToParse, "unrecognized write concern field: %s", it.Name)
		}
	}
	return w, nil
}

// parseReadConcern returns the level and the times of a read concern.
// Manual: reference/read-concern.
func parseReadConcern(v bson.Value) (level string, after, at storage.Timestamp, err error) {
	if v.IsNullish() {
		return "", 0, 0, nil
	}
	d, ok := v.Doc()
	if !ok {
		return "", 0, 0, mongoerr.WrongType("readConcern", v.Type.String(), "object")
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
			if string(it.Name) == "atClusterTime" {
				at = storage.MakeTimestamp(t, i)
			} else {
				after = storage.MakeTimestamp(t, i)
			}
		case "provenance", "afterOpTime", "allowTransactionTableSnapshot", "waitLastStableRecoveryTimestamp":
		default:
			return "", 0, 0, mongoerr.UnknownField("readConcern." + string(it.Name))
		}
	}
	if at != 0 && level != "snapshot" {
		return "", 0, 0, mongoerr.New(mongoerr.InvalidOptions, "readConcern.atClusterTime is only allowed with readConcern.level 'snapshot'")
	}
	return level, after, at, nil
}
