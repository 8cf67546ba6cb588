package status

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// profiler is what profile sets. Level and filter belong to a database, the
// rest to the server. Safe for concurrent use.
type profiler struct {
	on     atomic.Bool // some database is profiled
	mu     sync.RWMutex
	set    bool  // slowms and rate were set
	slowms int32 // 100 unless set
	rate   float64
	dbs    map[string]profileOf
}

// profileOf is the profiling of one database.
type profileOf struct {
	level  int32
	filter match.Node // nil: by slowms
}

// runProfile tells, and unless the level is -1 sets, which commands of a
// database are recorded: none, slow ones, all.
// Manual: reference/command/profile.
func (s *State) runProfile(c *command.Call) error {
	level, ok := c.Value.TruncInt64()
	if !ok {
		if c.Value.IsNullish() {
			return mongoerr.MissingField(c.Field(c.Name()))
		}
		return mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "long", "int", "decimal", "double")
	}
	p := &s.profiler
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.set {
		p.set, p.slowms, p.rate = true, 100, 1
	}
	was := p.dbs[c.DB]
	now, slowms, rate := was, p.slowms, p.rate
	if level >= 0 && level <= 2 {
		now.level = int32(level)
	}
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "slowms":
			var n int64
			if n, err = c.LongArg(name, v); !v.IsMissing() {
				slowms = int32(max(math.MinInt32, min(n, math.MaxInt32)))
			}
		case "sampleRate":
			if v.IsMissing() {
				break
			}
			f, ok := v.AsFloat()
			switch {
			case !ok:
				err = mongoerr.WrongType(c.Field(name), v.Type.String(), "long", "int", "decimal", "double")
			case !(f >= 0 && f <= 1):
				err = mongoerr.New(mongoerr.BadValue, "'sampleRate' must be between 0.0 and 1.0 inclusive")
			}
			rate = f
		case "filter":
			now.filter, err = profileFilter(c, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	b := c.Reply
	b.Int32("was", was.level)
	b.Int32("slowms", p.slowms)
	b.Double("sampleRate", p.rate)
	if was.filter != nil {
		f := bson.NewBuilder(nil)
		was.filter.Append(f)
		b.Raw("filter", f.Doc())
		b.String("note", "When a filter expression is set, slowms and sampleRate are not used for profiling and slow-query log lines.")
	}
	p.slowms, p.rate = slowms, rate
	if p.dbs == nil {
		p.dbs = map[string]profileOf{}
	}
	p.dbs[c.DB] = now
	on := false
	for _, of := range p.dbs {
		on = on || of.level > 0
	}
	p.on.Store(on)
	if now.level > 0 && was.level == 0 {
		return s.createProfile(c.Env(), collection.Namespace{DB: c.DB, Coll: collection.ProfileCollection})
	}
	return nil
}

// profileFilter reads a filter; "unset" is none.
// Errors: BadValue (2), those of match.Parse.
func profileFilter(c *command.Call, v bson.Value) (match.Node, error) {
	if s, ok := v.Str(); ok && s == "unset" {
		return nil, nil
	}
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "Expected an object, or the string 'unset'.")
	}
	return match.Parse(c.Env(), d.Clone())
}
