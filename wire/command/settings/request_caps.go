package settings

import (
	"maps"
	"math"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// requestCapsName is the cluster parameter with the default caps of commands, in request units.
const requestCapsName = "defaultMaxRequestUnits"

// applicationsMax is the maximum number of applications with a default cap.
const applicationsMax = 100

// requestCaps is the value of that cluster parameter; 0 is no cap. Immutable.
type requestCaps struct {
	commands     ratelimit.MicroRU            // of every command
	applications map[string]ratelimit.MicroRU // of those whose client has an appName
	then         ratelimit.RunawayRule
	watchAfter   int64  // the number of killed commands of one query shape after which the shape is rejected; 0 for never
	watchSecs    int64  // for so many seconds
	watchKind    string // command.WatchKinds; "" is the default
}

// doc returns the value with all fields.
func (p requestCaps) doc() bson.Raw {
	b := bson.NewBuilder(nil)
	b.Double("commands", p.commands.Exact())
	b.BeginArray("applications")
	for _, name := range slices.Sorted(maps.Keys(p.applications)) {
		b.BeginDoc("")
		b.String("appName", name)
		b.Double("maxRequestUnits", p.applications[name].Exact())
		b.End()
	}
	b.End()
	command.AppendRunaway(b, p.then)
	if p.watchAfter > 0 {
		b.BeginDoc("watch")
		b.Int64("after", p.watchAfter)
		b.Int64("durationSecs", p.watchSecs)
		if p.watchKind != "" {
			b.String("kind", p.watchKind)
		}
		b.End()
	}
	return b.Doc()
}

// requestCapsOf reads a document of doc; nil without one.
func requestCapsOf(d bson.Raw) *requestCaps {
	if d == nil {
		return nil
	}
	p := &requestCaps{commands: command.RequestUnitsOf(d.Get("commands")), applications: map[string]ratelimit.MicroRU{}}
	p.then = command.RunawayOf(d)
	watch, _ := d.Get("watch").Doc()
	p.watchAfter, _ = watch.Get("after").AsInt64()
	p.watchSecs, _ = watch.Get("durationSecs").AsInt64()
	p.watchKind, _ = watch.Get("kind").Str()
	list, _ := d.Get("applications").Array()
	for v := range list.Values() {
		a, _ := v.Doc()
		name, _ := a.Get("appName").Str()
		p.applications[name] = command.RequestUnitsOf(a.Get("maxRequestUnits"))
	}
	return p
}

// parseRequestCaps checks a new value. A field that is left out has no cap.
// Errors: BadValue (2), TypeMismatch (14), IDLFailedToParse (40414), IDLUnknownField (40415).
func parseRequestCaps(c *command.Call, v bson.Raw) (bson.Raw, error) {
	p := requestCaps{applications: map[string]ratelimit.MicroRU{}}
	args := append(c.RunawayFields(requestCapsName, &p.then),
		c.RequestUnitsField(requestCapsName, "commands", &p.commands),
		arguments.By("applications", func(v bson.Value) error { return p.parseApplications(c, v) }),
		arguments.By("watch", func(v bson.Value) error { return p.parseWatch(c, v) }),
		arguments.Ignored("_id", "clusterParameterTime"),
	)
	err := c.ReadFields(requestCapsName, v, args...)
	if err == nil {
		err = command.CheckRunaway(requestCapsName, p.then)
	}
	return p.doc(), err
}

// parseApplications reads the field applications.
func (p *requestCaps) parseApplications(c *command.Call, v bson.Value) error {
	field := requestCapsName + ".applications"
	list, err := c.DocArray(field, v, math.MaxInt32)
	if err != nil {
		return err
	}
	if len(list) > applicationsMax {
		return mongoerr.New(mongoerr.BadValue, "%s may have %d applications, and has %d: give the other clients a limit by their user, role or throughput bucket", field, applicationsMax, len(list))
	}
	for _, d := range list {
		name, most := "", ratelimit.MicroRU(0)
		if err := c.ReadFields(field, d, arguments.String("appName", &name).Required(), c.RequestUnitsField(field, "maxRequestUnits", &most).Required()); err != nil {
			return err
		}
		if name == "" || len(name) > command.AppNameMax {
			return mongoerr.New(mongoerr.BadValue, "%s.appName must have 1 to %d bytes, and has %d", field, command.AppNameMax, len(name))
		}
		if _, twice := p.applications[name]; twice {
			return mongoerr.New(mongoerr.BadValue, "%s has the application %q twice", field, name)
		}
		p.applications[name] = most
	}
	return nil
}

// watchSecsMax is the longest time for which a query shape is rejected: a year.
const watchSecsMax = 365 * 24 * 3600

// parseWatch reads the field watch.
func (p *requestCaps) parseWatch(c *command.Call, v bson.Value) error {
	field := requestCapsName + ".watch"
	d, err := c.DocArg(field, v)
	if err != nil {
		return err
	}
	number := func(name string, to *int64, most int64) arguments.Arg {
		return arguments.By(name, func(v bson.Value) (err error) {
			if *to, err = c.LongArg(field+"."+name, v); err == nil {
				err = arguments.Between(field+"."+name, *to, 1, most)
			}
			return err
		}).Required()
	}
	return c.ReadFields(field, d, number("after", &p.watchAfter, 1000), number("durationSecs", &p.watchSecs, watchSecsMax),
		arguments.Enum("kind", &p.watchKind, command.WatchKinds...))
}
