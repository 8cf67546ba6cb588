package command

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// WriteConcern is what a client wants to know of its write.
// Manual: reference/write-concern.
type WriteConcern struct {
	Given      bool
	W          int64
	Majority   bool
	Tagged     bool // by a mode, which nobody has defined here
	tag        string
	tags       bson.Raw // {tag: number, …} instead of a tag's name
	journal    bool
	hasJournal bool
	timeout    int64 // wtimeout, milliseconds
	Inherited  bool  // from setDefaultRWConcern
}

// durability is what a commit under the concern promises: on disk, unless the
// client asked for no acknowledgement or no journal.
func (w WriteConcern) durability(standard storage.Durability) storage.Durability {
	if w.Given && (w.hasJournal && !w.journal || w.Unacknowledged()) {
		return storage.Buffered
	}
	return standard
}

// Unacknowledged reports that the client does not want to know.
func (w WriteConcern) Unacknowledged() bool {
	return w.Given && w.W == 0 && !w.Majority && !w.Tagged && !w.journal
}

// Failure is the error of a write concern that cannot be met: the mode is not
// defined, or there are too few members. nil if it can.
func (w WriteConcern) Failure() *mongoerr.Error {
	switch {
	case w.Tagged:
		return mongoerr.New(mongoerr.UnknownReplWriteConcern, "No write concern mode named '%s' found in replica set configuration", w.tag).WithFields(w.info())
	case w.W > 1:
		return mongoerr.New(mongoerr.UnsatisfiableWriteConcern, "Not enough data-bearing nodes").WithFields(w.info())
	}
	return nil
}

// info is the errInfo of an error: the concern that was not met and where it came
// from. Manual: reference/method/WriteResult#writeresult.writeconcernerror.
func (w WriteConcern) info() []byte {
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

// ParseWriteConcern reads the argument writeConcern.
// Errors: TypeMismatch (14), FailedToParse (9), BadValue (2).
func ParseWriteConcern(v bson.Value) (w WriteConcern, err error) {
	if v.IsNullish() {
		return w, nil
	}
	d, ok := v.Doc()
	if !ok {
		return w, mongoerr.WrongType("writeConcern", v.Type.String(), "object")
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

// parseW reads w: a number of members, "majority", the name of a mode, or
// numbers by tag. Errors: FailedToParse (9).
func (w *WriteConcern) parseW(v bson.Value) error {
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

// ParseReadConcern returns the level and the times of a read concern.
// Manual: reference/read-concern.
func ParseReadConcern(v bson.Value) (level string, after, at storage.Timestamp, err error) {
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

// checkProvenance refuses what cannot say where a concern came from.
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

// fixReadTime gives a read of the level "snapshot" outside of transactions the
// newest time, unless it names one.
// Manual: reference/read-concern-snapshot. Errors: those of SnapshotTime.
func (c *Call) fixReadTime() (err error) {
	if c.ReadConcern == "snapshot" && !c.Args.InTxn && c.Op.At == 0 {
		c.Op.At, err = c.Cluster.SnapshotTime(c.Ctx)
	}
	return err
}

// AppendReadTime tells the client of a snapshot read at which time it read, so
// that it can read on there. Spec: snapshot-sessions#atclustertime.
func (c *Call) AppendReadTime() {
	if c.ReadConcern == "snapshot" && !c.Args.InTxn && c.Op.At != 0 {
		c.Reply.Timestamp("atClusterTime", c.Op.At.Seconds(), c.Op.At.Increment())
	}
}

// readLevel is the level that a read has in the end.
func (c *Call) readLevel() string {
	if c.ReadConcern != "" {
		return c.ReadConcern
	}
	return c.ReadDefault
}

// confirmRead waits until what a read has seen is durable, where the client may
// rely on it: a commit is visible a little before it is on disk. Transactions see
// to that when they commit.
// Manual: reference/read-concern-majority, reference/read-concern-linearizable.
func (c *Call) confirmRead() error {
	if c.Args.InTxn || c.Server.Durability != storage.Synced || c.Def.ReadConcern == OnlyLocal {
		return nil
	}
	switch c.readLevel() {
	case "majority", "linearizable", "snapshot":
		if store := c.Cluster.Store; store.Durable() < c.operationTime() {
			return store.Sync(c.Ctx)
		}
	}
	return nil
}
