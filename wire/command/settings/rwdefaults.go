package settings

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/concern"
	"github.com/cantledb/cantle/wire/savedsettings"
)

// rwDefaults holds the default read and write concern for commands without one, which setDefaultRWConcern sets. It is
// safe for concurrent use.
type rwDefaults struct {
	savedsettings.Setting
	setConcerns
	local int64 // when this server read it

	cached atomic.Pointer[cachedDefaults] // the defaults in the form that commands use; nil: nothing was set
}

// setConcerns holds the concerns as they were set.
type setConcerns struct {
	read  bson.Raw // nil: never set, or unset again
	write bson.Raw
	at    storage.Timestamp // of the last change, 0 if none
	wall  int64
}

// cachedDefaults holds the default concerns in the form that commands use.
type cachedDefaults struct {
	read  string
	write concern.Write
}

// cache makes the concerns that were set take effect.
func (d *rwDefaults) cache() {
	h := &cachedDefaults{}
	if d.read != nil {
		h.read, _, _, _ = concern.ParseRead(d.read.Value())
	}
	if d.write != nil {
		h.write, _ = concern.ParseWrite(d.write.Value())
		h.write.Inherited = true
	}
	d.cached.Store(h)
}

// fill sets the default read and write concern on a command that has none. In a transaction, only the command that
// ends it gets a write concern, because its statements have none of their own.
// Manual: reference/command/setDefaultRWConcern#behavior.
func (d *rwDefaults) fill(c *command.Call) {
	h := d.cached.Load()
	if h == nil {
		return
	}
	def := c.Def
	if h.write.Given && !c.WriteConcern.Given && (!c.Args.InTxn || def.Ends()) && def.TakesWriteConcern() && !def.Facts.Has(command.OwnConcern) {
		c.WriteConcern = h.write
	}
	if c.ReadConcern == "" && !c.Args.InTxn {
		c.ReadDefault = h.read
	}
}

// rwDefaultsName is the name of the stored setting.
const rwDefaultsName = "rwDefaults"

// apply applies the stored setting.
func (d *rwDefaults) apply(doc bson.Raw) {
	d.local = time.Now().UnixMilli()
	if doc == nil {
		return
	}
	defer d.cache()
	d.read, _ = doc.Get("defaultReadConcern").Doc()
	d.write, _ = doc.Get("defaultWriteConcern").Doc()
	t, i, _ := doc.Get("updateOpTime").Timestamp()
	d.at = storage.MakeTimestamp(t, i)
	d.wall, _ = doc.Get("updateWallClockTime").DateTime()
}

// appendSet appends the concerns that were set.
func (d *setConcerns) appendSet(b *bson.Builder) {
	if d.read != nil {
		b.Raw("defaultReadConcern", d.read)
	}
	if d.write != nil {
		b.Raw("defaultWriteConcern", d.write)
	}
	if d.at != 0 {
		b.Timestamp("updateOpTime", d.at.Seconds(), d.at.Increment())
		b.DateTime("updateWallClockTime", d.wall)
	}
}

// append appends the concerns that apply, set or implicit.
func (d *rwDefaults) append(b *bson.Builder) {
	source := func(set bson.Raw) string {
		if set == nil {
			return "implicit"
		}
		return "global"
	}
	shown := d.setConcerns
	if shown.read == nil {
		r := bson.NewBuilder(nil)
		r.String("level", "local")
		shown.read = r.Doc()
	}
	if shown.write == nil {
		w := bson.NewBuilder(nil)
		w.String("w", "majority")
		w.Int32("wtimeout", 0)
		shown.write = w.Doc()
	}
	shown.appendSet(b)
	b.String("defaultWriteConcernSource", source(d.write))
	b.String("defaultReadConcernSource", source(d.read))
	b.DateTime("localUpdateWallClockTime", d.local)
}

// runGetDefaultRWConcern returns the default concerns.
// Manual: reference/command/getDefaultRWConcern.
func (s *State) runGetDefaultRWConcern(c *command.Call) error {
	memory := false
	err := c.ReadArgs(arguments.StrictBool("inMemory", &memory))
	if err != nil {
		return err
	}
	d := &s.rwDefaults
	d.Lock()
	defer d.Unlock()
	d.append(c.Reply)
	if memory {
		c.Reply.Bool("inMemory", true)
	}
	return nil
}

// runSetDefaultRWConcern changes the default read or write concern. An empty read concern removes that default; a
// default write concern cannot be removed.
// Manual: reference/command/setDefaultRWConcern.
func (s *State) runSetDefaultRWConcern(c *command.Call) error {
	var read, write bson.Raw
	var hasRead, hasWrite bool
	err := c.ReadArgs(
		arguments.Doc("defaultReadConcern", &read).Given(&hasRead),
		arguments.Doc("defaultWriteConcern", &write).Given(&hasWrite),
	)
	if err != nil {
		return err
	}
	if !hasRead && !hasWrite {
		return mongoerr.New(mongoerr.BadValue, "At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" fields must be present")
	}
	d := &s.rwDefaults
	err = d.Change(c.Ctx, func() (_ bson.Raw, err error) {
		next := d.setConcerns
		if hasWrite {
			if next.write, err = defaultWrite(c, write, d.write != nil); err != nil {
				return nil, err
			}
		}
		if hasRead {
			if next.read, err = defaultRead(read); err != nil {
				return nil, err
			}
		}
		// Each change gets a timestamp of its own, later than the previous change.
		next.at, next.wall = max(c.Time, d.at+1), c.Cluster.Now().UnixMilli()
		b := bson.NewBuilder(nil)
		next.appendSet(b)
		return b.Doc(), nil
	})
	if err != nil {
		return err
	}
	d.Lock()
	defer d.Unlock()
	d.append(c.Reply)
	return nil
}

// defaultRead checks a default read concern, and returns a copy; nil if it has no level.
// Errors: TypeMismatch (14), BadValue (2), IDLUnknownField (40415).
func defaultRead(doc bson.Raw) (bson.Raw, error) {
	level, after, at, err := concern.ParseRead(doc.Value())
	if err != nil {
		return nil, err
	}
	switch {
	case after != 0 || at != 0:
		return nil, mongoerr.New(mongoerr.BadValue, "The default read concern must not have a time")
	case level == "linearizable" || level == "snapshot":
		return nil, mongoerr.New(mongoerr.BadValue, "level: '%s' is not suitable for the default read concern", level)
	case level == "":
		return nil, nil
	}
	return doc.Clone(), nil
}

// defaultWrite checks a default write concern, and returns it with wtimeout added, or nil for an empty one. was is
// true if a default is already set, which an empty one cannot remove.
// Errors: errors of concern.ParseWrite, BadValue (2), IllegalOperation (20), UnknownReplWriteConcern (79).
func defaultWrite(c *command.Call, doc bson.Raw, was bool) (bson.Raw, error) {
	if doc.IsEmpty() {
		if was {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "The global default write concern cannot be unset once it is set.")
		}
		return nil, nil
	}
	w, err := concern.ParseWrite(doc.Value())
	if err != nil {
		return nil, err
	}
	_, hasW := doc.Lookup("w")
	switch {
	case !hasW:
		return nil, mongoerr.New(mongoerr.BadValue, "The default write concern must have a 'w' field")
	case w.Tagged:
		return nil, w.Failure()
	case w.W == 0 && !w.Majority:
		return nil, mongoerr.New(mongoerr.BadValue, "The default write concern must not be unacknowledged")
	}
	b := bson.NewBuilder(nil)
	timeout := int64(0)
	for it := doc.Iter(); it.Next(); {
		switch string(it.Name) {
		case "wtimeout":
			timeout, _ = it.Value.TruncInt64()
		case "w":
			if n, ok := it.Value.TruncInt64(); ok {
				b.Int32("w", int32(n))
				continue
			}
			fallthrough
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	b.Int("wtimeout", timeout)
	return b.Doc(), nil
}
