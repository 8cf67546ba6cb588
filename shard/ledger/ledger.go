package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage"
)

const (
	// RowsMax is the maximum number of rows of a kind in one hour, of each server, without the row of the others.
	RowsMax = 100
	// KeptHours is the number of hours that are kept: 90 days.
	KeptHours = 90 * 24

	kindBytesMax = 32 << 10 // of the rows of a kind in one hour, of each server
	rowBytes     = 100      // of a row without names

	flushEvery   = 2 * time.Second
	lanes        = 16                     // tables of entries, each with a mutex of its own
	originsMax   = 1024                   // of a lane, between two flushes
	valuesMax    = 256                    // of a lane, between two flushes, besides those that have rows
	valueMax     = 512                    // bytes of an encoded shard key value; a longer one has no row
	commandsMax  = 1024                   // commands without a shape, by namespace
	pendingMax   = 8 * lanes * originsMax // origins, and values
	hourSeconds  = 3600
	removedAtOne = 5000 // old rows that one flush removes
)

// Operator is the number in place of a throughput bucket of what operators spend, outside of the budgets.
const Operator = 255

// Config holds the parts of a Ledger.
type Config struct {
	// Store keeps the rows; nil keeps them in memory, until their hour has passed.
	Store storage.Store
	// Now is the clock of the hours.
	Now func() time.Time
	// ValueOf decodes a shard key value of a collection, as KeyPattern.AppendLogical has encoded it; false if the collection
	// is gone.
	ValueOf func(ns collection.Namespace, key []byte) (bson.Raw, bool)
	// Failed is called with the first error of storing after a success; nil ignores errors.
	Failed func(error)
}

// Ledger sums charges. Safe for concurrent use.
type Ledger struct {
	Config
	lanes [lanes]lane

	unshaped struct {
		mu sync.Mutex
		by map[command]*history.Shape
	}

	mu      sync.Mutex
	pending map[int64]*taken // by hour: taken from the lanes, not yet in rows
	hours   map[int64]*hour  // those that can still change
	pruned  int64            // the hour in which old rows were last removed
	failing bool
}

// lane holds the charges of some connections since the last flush.
type lane struct {
	mu sync.Mutex
	taken
	fresh int      // values without a row
	_     [32]byte // keeps the mutexes of two lanes off one cache line
}

// taken holds charges by origin, and those of shard key values, which are a part of them.
type taken struct {
	origins map[originKey]*sum
	values  map[valueKey]*sum
}

func newTaken() taken { return taken{map[originKey]*sum{}, map[valueKey]*sum{}} }

// Origin identifies the rows of a charge, without that of the shard key value.
type Origin struct {
	Caller *ratelimit.Caller // nil for none
	Shape  *history.Shape    // compared by address; nil for the others
	Bucket uint8             // throughput bucket, 0 for none, or Operator
}

// originKey identifies the charges of an origin in an hour.
type originKey struct {
	Origin
	hour int64
}

// valueKey identifies the charges of a shard key value in an hour, by its collection and its encoded form.
type valueKey struct {
	namespace string
	hour      int64
	value     string
}

// sum is a sum of charges, in hundredths of a request unit, and the number of commands.
type sum struct{ Hundredths, Commands int64 }

func (s *sum) sub(o sum) { s.Hundredths, s.Commands = s.Hundredths-o.Hundredths, s.Commands-o.Commands }

func (s *sum) add(o sum) { s.Hundredths, s.Commands = s.Hundredths+o.Hundredths, s.Commands+o.Commands }

// command identifies a command that has no shape.
type command struct {
	ns   collection.Namespace
	name string
}

// New makes a Ledger.
func New(cfg Config) *Ledger {
	l := &Ledger{Config: cfg, pending: map[int64]*taken{}, hours: map[int64]*hour{}}
	if l.Failed == nil {
		l.Failed = func(error) {}
	}
	if l.ValueOf == nil {
		l.ValueOf = func(collection.Namespace, []byte) (bson.Raw, bool) { return nil, false }
	}
	for i := range l.lanes {
		l.lanes[i].taken = newTaken()
	}
	l.unshaped.by = map[command]*history.Shape{}
	return l
}

// Add counts the charge of one command of a connection, in hundredths of a request unit, at a time. value is the encoded
// shard key value that the command was for, empty for none or several.
func (l *Ledger) Add(conn int64, at time.Time, o Origin, value []byte, hundredths int64) {
	if len(value) > valueMax {
		value = nil
	}
	hour := at.Unix() / hourSeconds
	x := &l.lanes[uint64(conn)%lanes]
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.origins[originKey{o, hour}]
	if s == nil {
		s = x.enter(o, hour)
	}
	s.Hundredths += hundredths
	s.Commands++
	if len(value) == 0 || o.Shape == nil {
		return
	}
	if s = x.values[valueKey{o.Shape.Namespace, hour, string(value)}]; s == nil {
		if x.fresh >= valuesMax {
			return // a part of the others
		}
		x.fresh++
		s = &sum{}
		x.values[valueKey{o.Shape.Namespace, hour, string(value)}] = s
	}
	s.Hundredths += hundredths
	s.Commands++
}

// enter returns the sum of a new origin; that of the hour's others if the lane is full.
func (x *lane) enter(o Origin, hour int64) *sum {
	k := originKey{o, hour}
	if len(x.origins) >= originsMax {
		k = originKey{hour: hour}
		if s := x.origins[k]; s != nil {
			return s
		}
	}
	s := &sum{}
	x.origins[k] = s
	return s
}

// Unshaped returns the shape of a command that has none: its namespace and its name.
func (l *Ledger) Unshaped(ns collection.Namespace, name string) *history.Shape {
	u := &l.unshaped
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.by[command{ns, name}]; s != nil {
		return s
	}
	if len(u.by) >= commandsMax {
		clear(u.by)
	}
	if ns.Coll == "" {
		ns.Coll = "$cmd"
	}
	s := &history.Shape{Namespace: ns.String(), Command: name} // String copies the names, which point into the request
	own := collection.ParseNamespace(s.Namespace)
	if own.Coll == "$cmd" {
		own.Coll = ""
	}
	u.by[command{own, name}] = s
	return s
}

// Run flushes until ctx ends, and once after that.
func (l *Ledger) Run(ctx context.Context) {
	for {
		timer := time.NewTimer(flushEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			l.flushNoting(context.WithoutCancel(ctx))
			return
		case <-timer.C:
			l.flushNoting(ctx)
		}
	}
}

// flushNoting flushes, and reports the first error after a success.
func (l *Ledger) flushNoting(ctx context.Context) {
	err := l.Flush(ctx)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	l.mu.Lock()
	first := err != nil && !l.failing
	l.failing = err != nil
	l.mu.Unlock()
	if first {
		l.Failed(err)
	}
}
