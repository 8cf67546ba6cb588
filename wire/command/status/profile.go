package status

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// profiler holds the settings of the command profile. The level, the filter and the threshold for running commands
// belong to a database, the other settings to the server. It is safe for concurrent use.
type profiler struct {
	on   atomic.Bool  // some database is profiled or has a filter
	slow atomic.Int64 // slowms, in milliseconds
	mu   sync.RWMutex
	rate float64
	// level is the profiling level of databases whose level has not been set since the server started.
	level int32
	dbs   map[string]dbProfile
}

// Profiling holds the initial settings of the profiler, which apply until the command profile changes them.
// Manual: reference/configuration-options#operationprofiling-options.
type Profiling struct {
	Level      int32   // 0, 1 or 2
	SlowMillis int64   // the duration from which a command is slow, in milliseconds
	SampleRate float64 // the fraction of slow commands that are recorded and logged
}

// dbProfile holds the settings of one database.
type dbProfile struct {
	level  int32
	filter match.Node    // nil: slowms decides
	inProg time.Duration // the duration from which a running command is logged
	// implied is true if no profile command with a level of at least 0 was run on this database.
	implied bool
}

// Defaults.
const (
	slowDefault   = 100
	inProgDefault = 5 * time.Second
)

// init sets the initial settings; nil stands for MongoDB's defaults.
func (p *profiler) init(first *Profiling) {
	if first == nil {
		first = &Profiling{SlowMillis: slowDefault, SampleRate: 1}
	}
	p.slow.Store(first.SlowMillis)
	p.rate, p.level = first.SampleRate, first.Level
	p.on.Store(first.Level > 0)
}

// of returns the settings of a database. The caller holds p.mu.
func (p *profiler) of(db string) dbProfile {
	if of, ok := p.dbs[db]; ok {
		return of
	}
	return dbProfile{level: p.level, inProg: inProgDefault, implied: true}
}

// parseProfile reads the command profile, and distinguishes a request that only reads the settings from one that
// changes them. To read them, the privilege to find in system.profile is enough. Manual:
// reference/built-in-roles#clusterMonitor.
func (s *State) parseProfile(c *command.Call) (command.Request, error) {
	level, ok := c.Value.TruncInt64()
	sees := ok && level < 0
	for _, sets := range []string{"slowms", "slowinprogms", "sampleRate", "filter"} {
		sees = sees && !c.Body.Has(sets)
	}
	return command.NewRequest(func(q *command.PrivilegeCheck) {
		if !sees || !q.May(auth.Find, collection.Namespace{DB: c.DB, Coll: "system.profile"}) {
			q.Need(auth.EnableProfiler, collection.Namespace{DB: c.DB})
		}
	}, s.runProfile), nil
}

// runProfile changes those profiling settings of a database that the request has, and replies with the settings before
// the change. The level selects the commands to record in system.profile (0: none, 1: slow ones or those that match the
// filter, 2: all); any other number keeps it.
// Manual: reference/command/profile, reference/method/db.setProfilingLevel.
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
	was, wasSlow := p.of(c.DB), int32(p.slow.Load())
	now, slowms, rate := was, wasSlow, p.rate
	now.implied = now.implied && level < 0
	if level >= 0 && level <= 2 {
		now.level = int32(level)
	}
	var slow, inProg int64
	var hasSlow, hasInProg bool
	err := c.ReadArgs(
		arguments.Long("slowms", &slow).Given(&hasSlow),
		arguments.Long("slowinprogms", &inProg).Given(&hasInProg),
		arguments.By("sampleRate", func(v bson.Value) (err error) { rate, err = sampleRateArg(c, v); return err }),
		arguments.By("filter", func(v bson.Value) (err error) { now.filter, err = profileFilter(c, v); return err }).WithNull(),
	)
	if hasSlow {
		slowms = int32(max(math.MinInt32, min(slow, math.MaxInt32)))
	}
	if hasInProg {
		now.inProg = time.Duration(max(math.MinInt32, min(inProg, math.MaxInt32))) * time.Millisecond
	}
	if err != nil {
		return err
	}
	b := c.Reply
	b.Int32("was", was.level)
	b.Int32("slowms", wasSlow)
	b.Int32("slowinprogms", int32(was.inProg.Milliseconds()))
	b.Double("sampleRate", p.rate)
	if was.filter != nil {
		f := bson.NewBuilder(nil)
		was.filter.Append(f)
		b.Raw("filter", f.Doc())
		b.String("note", "When a filter expression is set, slowms and sampleRate are not used for profiling and slow-query log lines.")
	}
	p.slow.Store(int64(slowms))
	p.rate = rate
	if p.dbs == nil {
		p.dbs = map[string]dbProfile{}
	}
	p.dbs[c.DB] = now
	on := p.level > 0
	for _, of := range p.dbs {
		on = on || of.level > 0 || of.filter != nil
	}
	p.on.Store(on)
	if now.level > 0 && was.level == 0 {
		return s.createProfile(c.Env(), collection.Namespace{DB: c.DB, Coll: collection.ProfileCollection})
	}
	return nil
}

// sampleRateArg reads sampleRate. Errors: TypeMismatch (14), BadValue (2).
func sampleRateArg(c *command.Call, v bson.Value) (float64, error) {
	f, ok := v.AsFloat()
	switch {
	case !ok:
		return 0, mongoerr.WrongType(c.Field("sampleRate"), v.Type.String(), "long", "int", "decimal", "double")
	case !(f >= 0 && f <= 1):
		return 0, mongoerr.New(mongoerr.BadValue, "'sampleRate' must be between 0.0 and 1.0 inclusive")
	}
	return f, nil
}

// profileFilter reads the argument filter of profile, a condition on the entries to record; nil for "unset", which
// removes the filter.
// Errors: BadValue (2), errors of match.Parse.
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
