package concern

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// Write is a write concern.
// Manual: reference/write-concern.
type Write struct {
	Given      bool
	W          int64
	Majority   bool
	Tagged     bool // w is the name of a mode, or tags; no modes are defined here
	tag        string
	tags       bson.Raw // {tag: number, …} instead of a tag's name
	journal    bool
	hasJournal bool
	timeout    int64 // wtimeout, milliseconds
	Inherited  bool  // from setDefaultRWConcern
}

// Durability returns the durability with which a command commits under the write concern: Buffered if that requests no
// acknowledgement (see Unacknowledged) or has j: false, otherwise standard.
func (w Write) Durability(standard storage.Durability) storage.Durability {
	if w.Given && (w.hasJournal && !w.journal || w.Unacknowledged()) {
		return storage.Buffered
	}
	return standard
}

// Unacknowledged reports whether the client requested no acknowledgement: w: 0 without j: true.
func (w Write) Unacknowledged() bool {
	return w.Given && w.W == 0 && !w.Majority && !w.Tagged && !w.journal
}

// Failure returns the error of a write concern that cannot be satisfied, because its mode is not defined or it
// requires more than one member; nil if it can be satisfied.
func (w Write) Failure() *mongoerr.Error {
	switch {
	case w.Tagged:
		return mongoerr.New(mongoerr.UnknownReplWriteConcern, "No write concern mode named '%s' found in replica set configuration", w.tag).WithFields(w.info())
	case w.W > 1:
		return mongoerr.New(mongoerr.UnsatisfiableWriteConcern, "Not enough data-bearing nodes").WithFields(w.info())
	}
	return nil
}

// Uncounted returns the write concern with one member in place of a larger number, a mode or tags. It is for an
// address of the server where the client does not choose how many members acknowledge a write.
func (w Write) Uncounted() Write {
	if w.W > 1 || w.Tagged {
		w.W, w.Tagged, w.tag, w.tags = 1, false, "", nil
	}
	return w
}

// info returns the field errInfo of a write concern error: the write concern that was not satisfied, and its
// provenance. Manual: reference/method/WriteResult#writeresult.writeconcernerror.
func (w Write) info() []byte {
	b := bson.NewBuilder(nil)
	b.BeginDoc("errInfo")
	b.BeginDoc("writeConcern")
	switch {
	case w.tags != nil:
		b.Raw("w", w.tags)
	case w.Tagged:
		b.String("w", w.tag)
	default:
		b.Int32("w", int32(w.W))
	}
	if w.hasJournal {
		b.Bool("j", w.journal)
	}
	b.Int("wtimeout", w.timeout)
	if w.Inherited {
		b.String("provenance", "customDefault")
	} else {
		b.String("provenance", "clientSupplied")
	}
	b.End()
	b.End()
	return b.Doc().Elements()
}

// ParseWrite reads the argument writeConcern of a command. Errors: TypeMismatch (14), FailedToParse (9), BadValue
// (2), IDLUnknownField (40415), IDLDuplicateField (40413).
func ParseWrite(v bson.Value) (w Write, err error) {
	if v.IsNullish() {
		return w, nil
	}
	d, ok := v.Doc()
	if !ok {
		return w, mongoerr.WrongType("writeConcern", v.Type.String(), "object")
	}
	if name, twice := d.Repeated(); twice {
		return w, mongoerr.RepeatedField("writeConcern" + "." + string(name))
	}
	w.Given, w.W = true, 1
	fsync := false
	for it := d.Iter(); it.Next(); {
		v := it.Value
		switch string(it.Name) {
		case "w":
			if err := w.parseW(v); err != nil {
				return w, err
			}
		case "j", "fsync":
			if v.Type != bson.TypeBool && !v.IsNumber() && !v.IsNullish() {
				return w, mongoerr.WrongType("writeConcern."+string(it.Name), v.Type.String(), "bool", "long", "int", "decimal", "double")
			}
			if string(it.Name) == "j" {
				w.journal, w.hasJournal = v.Truthy(), true
			} else {
				fsync = v.Truthy()
			}
		case "wtimeout":
			if n, ok := v.AsFloat(); ok && n > math.MaxInt32 {
				return w, mongoerr.New(mongoerr.FailedToParse, "wtimeout must be a number that fits in an integer")
			}
			w.timeout, _ = v.TruncInt64()
		case "provenance":
			if err := checkProvenance("writeConcern", v); err != nil {
				return w, err
			}
		case "getLastError":
		default:
			return w, mongoerr.UnknownField("writeConcern." + string(it.Name))
		}
	}
	if fsync && w.journal {
		return w, mongoerr.New(mongoerr.FailedToParse, "fsync and j options cannot be used together")
	}
	return w, nil
}

// parseW reads the field w of a write concern: a number of members, "majority", the name of a mode, a document of
// numbers by tag, or null, a mode that is not defined. Errors: FailedToParse (9).
func (w *Write) parseW(v bson.Value) error {
	switch {
	case v.IsNumber():
		f, _ := v.AsFloat()
		if !(f > -1 && f < 51) { // NaN too
			return mongoerr.New(mongoerr.FailedToParse, "w has to be a non-negative number and not greater than 50; found: %g", f)
		}
		w.W = int64(f)
	case v.Type == bson.TypeString:
		s, _ := v.Str()
		w.Majority, w.Tagged = s == "majority", s != "majority"
		w.tag = s
	case v.Type == bson.TypeDocument:
		d, _ := v.Doc()
		if d.IsEmpty() {
			return mongoerr.New(mongoerr.FailedToParse, "tagged write concern requires tags")
		}
		for tag, n := range d.Fields() {
			if !n.IsNumber() {
				return mongoerr.New(mongoerr.FailedToParse, "tags must be a single level document with only number values; found: %s for tag '%s'", n.Type, tag)
			}
		}
		w.Tagged, w.tag, w.tags = true, d.String(), d
	case v.IsNullish():
		w.Tagged = true
	default:
		return mongoerr.New(mongoerr.FailedToParse, "w has to be a number, string, or object; found: %s", v.Type)
	}
	return nil
}
