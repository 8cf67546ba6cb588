package settings

import (
	"maps"
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
}

// doc returns the value with all fields.
func (p requestCaps) doc() bson.Raw {
	b := bson.NewBuilder(nil)
	b.Double("commands", p.commands.Float())
	b.BeginArray("applications")
	for _, name := range slices.Sorted(maps.Keys(p.applications)) {
		b.BeginDoc("")
		b.String("appName", name)
		b.Double("maxRequestUnits", p.applications[name].Float())
		b.End()
	}
	b.End()
	b.String("action", p.then.Action.String())
	switch p.then.Action {
	case ratelimit.CoolDown:
		b.Double("coolDownThroughput", p.then.Rate.Float())
	case ratelimit.SwitchBucket:
		b.Int32("bucket", int32(p.then.Bucket))
	}
	return b.Doc()
}

// requestCapsOf reads a document of doc; nil without one.
func requestCapsOf(d bson.Raw) *requestCaps {
	if d == nil {
		return nil
	}
	units := func(v bson.Value) ratelimit.MicroRU {
		n, _ := v.AsFloat()
		return ratelimit.MicroRU(n * float64(ratelimit.RU))
	}
	p := &requestCaps{commands: units(d.Get("commands")), applications: map[string]ratelimit.MicroRU{}}
	action, _ := d.Get("action").Str()
	bucket, _ := d.Get("bucket").AsInt64()
	p.then = ratelimit.RunawayRule{Action: ratelimit.RunawayActionNamed(action), Bucket: uint8(bucket), Rate: units(d.Get("coolDownThroughput"))}
	list, _ := d.Get("applications").Array()
	for v := range list.Values() {
		a, _ := v.Doc()
		name, _ := a.Get("appName").Str()
		p.applications[name] = units(a.Get("maxRequestUnits"))
	}
	return p
}

// parseRequestCaps checks a new value. A field that is left out has no cap.
// Errors: BadValue (2), TypeMismatch (14), IDLFailedToParse (40414), IDLUnknownField (40415).
func parseRequestCaps(c *command.Call, v bson.Raw) (bson.Raw, error) {
	p := requestCaps{applications: map[string]ratelimit.MicroRU{}}
	units := func(name, field string, to *ratelimit.MicroRU) arguments.Arg {
		return arguments.By(field, func(v bson.Value) (err error) {
			*to, err = c.RequestUnitsArg(name+"."+field, v)
			return err
		})
	}
	err := c.ReadFields(requestCapsName, v,
		units(requestCapsName, "commands", &p.commands),
		arguments.By("applications", func(v bson.Value) error {
			field := requestCapsName + ".applications"
			list, err := c.DocArray(field, v, applicationsMax)
			if err != nil {
				return err
			}
			for _, d := range list {
				name, most := "", ratelimit.MicroRU(0)
				err := c.ReadFields(field, d, arguments.String("appName", &name).Required(), units(field, "maxRequestUnits", &most).Required())
				if err != nil {
					return err
				}
				if _, twice := p.applications[name]; twice {
					return mongoerr.New(mongoerr.BadValue, "%s has the application %q twice", field, name)
				}
				p.applications[name] = most
			}
			return nil
		}),
		arguments.By("action", func(v bson.Value) error {
			name, err := c.EnumArg(requestCapsName+".action", v, ratelimit.Kill.String(), ratelimit.DryRun.String(), ratelimit.CoolDown.String(), ratelimit.SwitchBucket.String())
			p.then.Action = ratelimit.RunawayActionNamed(name)
			return err
		}),
		units(requestCapsName, "coolDownThroughput", &p.then.Rate),
		arguments.By("bucket", func(v bson.Value) error {
			n, err := c.LongArg(requestCapsName+".bucket", v)
			if err == nil {
				err = arguments.Between(requestCapsName+".bucket", n, 1, ratelimit.GroupsMax)
			}
			p.then.Bucket = uint8(n)
			return err
		}),
		arguments.Ignored("_id", "clusterParameterTime"),
	)
	if err == nil {
		err = p.checkAction()
	}
	return p.doc(), err
}

// checkAction refuses an action without its setting, and a setting of another action. Errors: BadValue (2).
func (p *requestCaps) checkAction() error {
	for _, x := range [...]struct {
		field  string
		given  bool
		action ratelimit.RunawayAction
	}{{"coolDownThroughput", p.then.Rate != 0, ratelimit.CoolDown}, {"bucket", p.then.Bucket != 0, ratelimit.SwitchBucket}} {
		if x.given != (p.then.Action == x.action) {
			return mongoerr.New(mongoerr.BadValue, "%s.%s belongs to the action %s, which needs it", requestCapsName, x.field, x.action)
		}
	}
	return nil
}
