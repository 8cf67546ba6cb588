package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
)

// WatchKinds are the names of the reads that query settings are for: those of the same command, of the same query shape, and of
// the same plan cache shape. The words are TiDB's (WATCH EXACT, SIMILAR, PLAN).
// Source: TiDB, "tidb-resource-control-runaway-queries".
var WatchKinds = []string{"exact", "similar", "plan"}

// RequestUnitsField is an optional field with a maximum of request units; 0 is none.
func (c *Call) RequestUnitsField(name, field string, to *ratelimit.MicroRU) arguments.Arg {
	return arguments.By(field, func(v bson.Value) (err error) {
		*to, err = c.RequestUnitsArg(name+"."+field, v)
		return err
	})
}

// RunawayFields are the fields of the argument called name with the effect on a runaway command: action, and
// its settings. CheckRunaway checks them together.
func (c *Call) RunawayFields(name string, to *ratelimit.RunawayRule) []arguments.Arg {
	return []arguments.Arg{
		arguments.By("action", func(v bson.Value) error {
			s, err := c.EnumArg(name+".action", v, ratelimit.RunawayActionNames...)
			to.Action = ratelimit.RunawayActionNamed(s)
			return err
		}),
		c.RequestUnitsField(name, "coolDownThroughput", &to.Rate),
		arguments.By("bucket", func(v bson.Value) error {
			n, err := c.LongArg(name+".bucket", v)
			if err == nil {
				err = arguments.Between(name+".bucket", n, 1, ratelimit.GroupsMax)
			}
			to.Bucket = uint8(n)
			return err
		}),
	}
}

// CheckRunaway refuses an action without its setting, and a setting of another action. Errors: BadValue (2).
func CheckRunaway(name string, r ratelimit.RunawayRule) error {
	for _, x := range [...]struct {
		field  string
		given  bool
		action ratelimit.RunawayAction
	}{{"coolDownThroughput", r.Rate != 0, ratelimit.CoolDown}, {"bucket", r.Bucket != 0, ratelimit.SwitchBucket}} {
		if x.given != (r.Action == x.action) {
			return mongoerr.New(mongoerr.BadValue, "%s.%s belongs to the action %s, which needs it", name, x.field, x.action)
		}
	}
	return nil
}

// AppendRunaway appends the fields of RunawayFields.
func AppendRunaway(b *bson.Builder, r ratelimit.RunawayRule) {
	b.String("action", r.Action.String())
	switch r.Action {
	case ratelimit.CoolDown:
		b.Double("coolDownThroughput", r.Rate.Exact())
	case ratelimit.SwitchBucket:
		b.Int32("bucket", int32(r.Bucket))
	}
}

// AppendRunawayCounts appends the numbers of runaway commands by action, and of reads that query settings refused, if there are
// some.
func AppendRunawayCounts(b *bson.Builder, n [ratelimit.RunawayActions]int64, rejected int64) {
	if n == ([ratelimit.RunawayActions]int64{}) && rejected == 0 {
		return
	}
	b.BeginDoc("runaways")
	for a := range ratelimit.RunawayActions {
		if n[a] > 0 {
			b.Int64(a.String(), n[a])
		}
	}
	if rejected > 0 {
		b.Int64("rejected", rejected)
	}
	b.End()
}

// RunawayOf reads the fields of AppendRunaway.
func RunawayOf(d bson.Raw) ratelimit.RunawayRule {
	action, _ := d.Get("action").Str()
	bucket, _ := d.Get("bucket").AsInt64()
	return ratelimit.RunawayRule{Action: ratelimit.RunawayActionNamed(action), Bucket: uint8(bucket), Rate: RequestUnitsOf(d.Get("coolDownThroughput"))}
}

// RequestUnitsOf reads a stored number of request units.
func RequestUnitsOf(v bson.Value) ratelimit.MicroRU {
	n, _ := v.AsFloat()
	return ratelimit.AmountOf(n)
}
