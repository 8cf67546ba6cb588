package failpoint

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// failPoints holds the fail points of all listening addresses. Each address has its own fail points, as each mongos
// has: so a test of pinning makes one mongos fail and not the other.
// Spec: the drivers' tests (fail points), MongoDB's failCommand.
type failPoints struct {
	on    atomic.Int32 // number of enabled fail points: the only field that commands read while it is 0
	mu    sync.Mutex
	fails map[failPlace]*failCommand
}

// failPlace identifies a fail point by its name and the listening address to which it belongs.
type failPlace struct{ name, address string }

// The names of the fail points.
const (
	// failCommandPoint makes commands fail before they run.
	failCommandPoint = "failCommand"
	// failGetMorePoint makes a getMore fail after it has found its cursor.
	failGetMorePoint = "failGetMoreAfterCursorCheckout"
	// timeOutPoint makes every time limit expire at once.
	timeOutPoint = "maxTimeAlwaysTimeOut"
	// endlessPoint disables all time limits.
	endlessPoint = "maxTimeNeverTimeOut"
	// noMeteringPoint lets commands at all addresses run without counting and charging their request units, to
	// measure the cost of this counting.
	noMeteringPoint = "noMetering"
	// parkCursorsPoint parks the cursors of all addresses after each batch, or with a probability, to test parking
	// without many open cursors.
	parkCursorsPoint = "parkCursors"
)

// failMode is the mode of a fail point: how often it fires.
type failMode struct {
	always bool
	skip   int64
	times  int64 // left; counts down to 0
	chance float64
}

// probability returns the probability with which a fail point fires, for fail points that do not count how often: 0
// if it is off, 1 without activationProbability.
func (m failMode) probability() float64 {
	switch {
	case m == failMode{}:
		return 0
	case m.chance > 0:
		return m.chance
	}
	return 1
}

// fires reports whether a fail point that is reached fires this time, and counts that. done is true if the fail point
// will never fire again.
func (m *failMode) fires() (yes, done bool) {
	switch {
	case m.always:
		return true, false
	case m.skip > 0:
		m.skip--
		m.always = m.skip == 0
		return false, false
	case m.times > 0:
		m.times--
		return true, m.times == 0
	case m.chance > 0:
		return rand.Float64() < m.chance, false
	}
	return false, true
}

// failCommand is a fail point that makes commands fail.
type failCommand struct {
	mode      failMode
	enabled   bool
	entered   int64
	commands  []string
	appName   string
	namespace string
	code      mongoerr.Code
	hasCode   bool
	text      string // of the error; "" for the default
	labels    mongoerr.Labels
	hasLabels bool
	thread    string // the connection, "conn" and its number; "" for any
	all       bool   // all commands, whatever their names
	close     bool
	panics    bool // ours: the command panics
	block     time.Duration
	concern   bson.Raw // writeConcernError of a command that succeeds
	extra     []byte   // errorExtraInfo, as elements
}

// Fail returns the error of an active fail point for the place of the command; nil without one, and for one with
// another effect, such as a delay. Errors: any; wire.ErrHangUp closes the connection.
func (s *State) Fail(c *command.Call, at command.FailPlace) error {
	if s.failPoints.on.Load() == 0 {
		return nil
	}
	switch at {
	case command.FailTimeLimit:
		return s.failTimeLimit(c)
	case command.FailGetMore:
		return s.failGetMore(c)
	case command.FailWrite:
		return s.failWrite(c)
	}
	return s.failAny(c)
}

// failAny fails any command. Errors: as Fail.
func (s *State) failAny(c *command.Call) error {
	if c.Name() == "configureFailPoint" {
		return nil
	}
	p, yes := s.failPoints.enter(failPlace{failCommandPoint, c.Conn.Local().String()}, c)
	if !yes {
		return nil
	}
	return p.fail(c)
}

// failGetMore fails a getMore whose cursor was found, if the fail point for that place is on; nil otherwise. Errors: as
// failAny.
func (s *State) failGetMore(c *command.Call) error {
	p, yes := s.failPoints.enter(failPlace{failGetMorePoint, c.Conn.Local().String()}, c)
	if !yes {
		return nil
	}
	if p.panics {
		panic("a fail point has asked for it")
	}
	return p.fail(c)
}

// failTimeLimit returns the error of a fail point about time limits, for a command that has a limit; nil if none is on.
// ErrTimeLimit makes the command fail at once, ErrEndless disables its limit. Errors: cluster.ErrTimeLimit,
// command.ErrEndless.
func (s *State) failTimeLimit(c *command.Call) error {
	if _, yes := s.failPoints.enter(failPlace{timeOutPoint, c.Conn.Local().String()}, c); yes {
		return cluster.ErrTimeLimit
	}
	if _, yes := s.failPoints.enter(failPlace{endlessPoint, c.Conn.Local().String()}, c); yes {
		return command.ErrEndless
	}
	return nil
}

// enter is called when a command reaches a fail point. It returns the fail point, and whether it fires: whether it is
// on, applies to the command, and its mode selects this time. It counts the times that a fail point fires.
func (f *failPoints) enter(at failPlace, c *command.Call) (failCommand, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.fails[at]
	if p == nil || !p.enabled || at.name == failCommandPoint && !p.appliesTo(c) {
		return failCommand{}, false
	}
	yes, done := p.mode.fires()
	if yes {
		p.entered++
	}
	if done {
		p.enabled = false
		f.on.Add(-1)
	}
	return *p, yes
}

// set replaces the fail point of a place, and returns how often the fail points of that place have fired. It turns
// the place off if the mode is zero.
func (f *failPoints) set(at failPlace, p failCommand) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.fails[at]; old != nil {
		p.entered = old.entered
		if old.enabled {
			f.on.Add(-1)
		}
	}
	if p.enabled = p.mode != (failMode{}); p.enabled {
		f.on.Add(1)
	}
	if f.fails == nil {
		f.fails = map[failPlace]*failCommand{}
	}
	f.fails[at] = &p
	return p.entered
}

// fail carries out the failure.
func (p *failCommand) fail(c *command.Call) error {
	if p.block > 0 {
		if err := command.Wait(c.Ctx, p.block); err != nil {
			return err
		}
	}
	if p.close {
		return wire.ErrHangUp
	}
	if p.panics {
		c.Injected.Panic()
		return nil
	}
	if p.hasCode {
		c.Injected.Failed = true
		text := cmp.Or(p.text, "Failing command via 'failCommand' failpoint")
		e := mongoerr.New(p.code, "%s", text).WithFields(p.extra)
		if p.hasLabels {
			c.Injected.Labels, c.Injected.HasLabels = p.labels, true
		}
		return e
	}
	if p.concern != nil {
		c.ConcernError = p.concern
		if p.hasLabels {
			c.Injected.Labels, c.Injected.HasLabels = p.labels, true
		}
	}
	return nil
}

// appliesTo reports whether the fail point applies to the command.
func (p *failCommand) appliesTo(c *command.Call) bool {
	if p.appName != "" && p.appName != appName(c) || p.thread != "" && p.thread != fmt.Sprintf("conn%d", c.Conn.ID()) {
		return false
	}
	if p.namespace != "" {
		coll, _ := c.Value.Str()
		if p.namespace != c.DB+"."+coll {
			return false
		}
	}
	if p.all {
		return true
	}
	for _, name := range p.commands {
		if c.Def.Called(name) {
			return true
		}
	}
	return false
}

// appName returns the name of the client's application. During the first hello of a connection it is read from that
// hello, because fail points are checked before the hello runs.
func appName(c *command.Call) string {
	if c.ConnState.Client.Load() != nil {
		return c.ConnState.AppName
	}
	metadata, _ := c.Body.Get("client").Doc()
	application, _ := metadata.Get("application").Doc()
	name, _ := application.Get("name").Str()
	return name
}

// runConfigureFailPoint turns a fail point on or off at the address of the connection; killAtJobStep, noMetering and
// parkCursors at all addresses. Without TestCommands the command does not exist.
// Source: MongoDB's source tree, docs/fail_points.md.
func (s *State) runConfigureFailPoint(c *command.Call) error {
	if !c.Server.TestCommands {
		return mongoerr.NoCommand(c.Name())
	}
	name, ok := c.Value.Str()
	if !ok {
		return mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string")
	}
	var mode failMode
	var data bson.Raw
	hasMode := false
	err := c.ReadArgs(
		arguments.By("mode", func(v bson.Value) (err error) {
			hasMode = true
			mode, err = parseFailMode(v)
			return err
		}).WithNull(),
		arguments.Doc("data", &data),
	)
	if err != nil {
		return err
	}
	if !hasMode {
		return mongoerr.MissingField(c.Field("mode"))
	}
	p := failCommand{mode: mode}
	switch name {
	case killAtJobStepPoint:
		return s.jobKill.set(mode, data)
	case noMeteringPoint:
		c.Server.Unmetered.Store(mode != (failMode{}))
		return nil
	case parkCursorsPoint:
		s.Cursors.SetParkProbability(mode.probability())
		return nil
	case failCommandPoint, failGetMorePoint:
		if err := p.parse(data); err != nil {
			return err
		}
	case failWritePoint:
		if err := p.parseWrite(data); err != nil {
			return err
		}
	case timeOutPoint, endlessPoint:
	default:
		return mongoerr.New(mongoerr.FailPointSetFailed, "%s not found", name)
	}
	c.Reply.Int64("count", s.failPoints.set(failPlace{name, c.Conn.Local().String()}, p))
	return nil
}

// parseFailMode reads the mode of a fail point: "off", "alwaysOn", {times: n}, {skip: n} or {activationProbability: x}.
// Errors: BadValue (2), TypeMismatch (14).
func parseFailMode(v bson.Value) (m failMode, err error) {
	if s, ok := v.Str(); ok {
		switch s {
		case "off":
			return m, nil
		case "alwaysOn":
			return failMode{always: true}, nil
		}
		return m, mongoerr.New(mongoerr.BadValue, "unknown mode: %s", s)
	}
	d, ok := v.Doc()
	if !ok {
		return m, mongoerr.New(mongoerr.TypeMismatch, "'mode' must be a string or JSON object")
	}
	how := ""
	for it := d.Iter(); it.Next(); {
		n, ok := it.Value.TruncInt64()
		if !ok || n < 0 {
			return m, mongoerr.New(mongoerr.BadValue, "'%s' option to 'mode' must be a non-negative number", it.Name)
		}
		name := string(it.Name)
		switch name {
		case "times", "skip", "activationProbability":
		default:
			return m, mongoerr.New(mongoerr.BadValue, "unknown mode option: %s", it.Name)
		}
		if how == "times" || how == "skip" && name != "times" { // drivers send unused options as zeros
			continue
		}
		how, m = name, failMode{}
		switch name {
		case "times":
			m.times = n
		case "skip":
			m.skip, m.always = n, n == 0
		case "activationProbability":
			m.chance, _ = it.Value.AsFloat()
		}
	}
	return m, nil
}

// parse reads the data of the fail points failCommand and failGetMoreAfterCursorCheckout: the affected commands, and
// the error or other effect. Errors: TypeMismatch (14), BadValue (2), InvalidOptions (72).
func (p *failCommand) parse(data bson.Raw) error {
	var millis int64
	blocks := false
	for it := data.Iter(); it.Next(); {
		v := it.Value
		var ok bool
		switch string(it.Name) {
		case "failCommands":
			var list bson.Raw
			if list, ok = v.Array(); ok {
				for v := range list.Values() {
					s, _ := v.Str()
					p.commands = append(p.commands, s)
				}
			}
		case "errorCode":
			var n int64
			n, ok = v.TruncInt64()
			p.code, p.hasCode = mongoerr.Code(n), true
		case "errmsg":
			p.text, ok = v.Str()
			p.text = strings.Clone(p.text)
		case "errorLabels":
			var list bson.Raw
			if list, ok = v.Array(); ok {
				p.hasLabels = true
				for v := range list.Values() {
					s, _ := v.Str()
					p.labels |= mongoerr.LabelByName(s)
				}
			}
		case "closeConnection":
			p.close, ok = v.Boolean()
		case "panic":
			p.panics, ok = v.Boolean()
		case "blockConnection":
			blocks, ok = v.Boolean()
		case "blockTimeMS":
			millis, ok = v.TruncInt64()
		case "appName":
			p.appName, ok = v.Str()
		case "namespace":
			p.namespace, ok = v.Str()
		case "writeConcernError":
			var d bson.Raw
			d, ok = v.Doc()
			p.concern = d.Clone()
		case "errorExtraInfo":
			var d bson.Raw
			if d, ok = v.Doc(); ok {
				p.extra = append([]byte(nil), d.Elements()...)
			}
		case "threadName":
			p.thread, ok = v.Str()
		case "failAllCommands":
			p.all, ok = v.Boolean()
		case "failInternalCommands", "failLocalClients": // there are none of these
			_, ok = v.Boolean()
		default:
			return mongoerr.New(mongoerr.BadValue, "unknown data of failCommand: %s", it.Name)
		}
		if !ok {
			return mongoerr.WrongType("failCommand."+string(it.Name), v.Type.String(), "another type")
		}
	}
	if blocks {
		if millis <= 0 {
			return mongoerr.New(mongoerr.InvalidOptions, "must specify 'blockTimeMS' when 'blockConnection' is true")
		}
		p.block = time.Duration(millis) * time.Millisecond
	}
	return nil
}
