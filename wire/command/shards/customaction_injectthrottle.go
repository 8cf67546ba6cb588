package shards

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// injectArg reads an argument of InjectThrottle.
func injectArg(c *command.Call, r *ratelimit.RefuseRule, name string, v bson.Value) (err error) {
	if v.IsMissing() {
		return nil
	}
	if name == "kind" {
		kind, err := c.StringArg(name, v)
		switch kind {
		case "any", "":
			r.Kind = ratelimit.AnyKind
		case "read":
			r.Kind = ratelimit.ReadKind
		case "write":
			r.Kind = ratelimit.WriteKind
		default:
			err = mongoerr.BadEnum(c.Field(name), kind)
		}
		return err
	}
	n, err := wholeArg(c, name, v)
	if err != nil {
		return err
	}
	const most = 1 << 40
	switch name {
	case "nth":
		r.Nth = n
		return arguments.Between(name, n, 1, most)
	case "count":
		r.Count = n
		return arguments.Between(name, n, -1, most)
	case "every":
		r.Every = n
		return arguments.Between(name, n, 0, most)
	}
	r.RetryAfter = time.Duration(n) * time.Millisecond
	return arguments.Between(name, n, 0, 60_000)
}

// injectThrottle runs {customAction: "InjectThrottle", nth: 5, kind: "write"}, which Azure Cosmos DB does not have: the
// nth statement from now is refused, as if request units were lacking, so that an application can test its retries; it
// exists only with --enable-test-commands. count is the number of consecutive refusals (-1: all that follow), every
// repeats the pattern after that many statements, kind and collection limit it to reads or writes and to one
// collection. Each call replaces the rule of an earlier call; {off: true} removes the rule.
func injectThrottle(c *command.Call, a *customArgs) error {
	if !c.Server.TestCommands {
		return mongoerr.New(mongoerr.CommandNotFound, "customAction InjectThrottle needs a server started with --enable-test-commands")
	}
	if a.off {
		c.Cluster.Budgets.Inject()
		return nil
	}
	if a.rule.Nth == 0 {
		return mongoerr.MissingField("customAction.nth")
	}
	if a.rule.Every > 0 && a.rule.Count >= a.rule.Every {
		return mongoerr.New(mongoerr.BadValue, "count must be less than every, or all statements are refused; for that say count: -1")
	}
	if a.hasColl {
		coll, err := c.Collection(a.ns)
		if err != nil {
			return err
		}
		a.rule.Collection = uint64(coll.ID)
	}
	c.Cluster.Budgets.Inject(a.rule)
	return nil
}

// redistribute runs {customAction: "RedistributeThroughput", collection: "c", targets: [{id: "1", throughput: 6000}],
// sources: ["0"]}, which gives partitions different shares of the collection's throughput; {equal: true} makes the
// shares equal again.
// Source: Azure Cosmos DB for MongoDB, "distribute-throughput-across-partitions", which has this operation outside of
// the wire protocol.
func redistribute(c *command.Call, a *customArgs) error {
	if a.equal != (len(a.targets) == 0) || a.equal && len(a.sources) > 0 {
		return mongoerr.New(mongoerr.BadValue, "either targets, with the sources to take from, or equal: true must be given")
	}
	if _, err := c.Collection(a.ns); err != nil {
		return err
	}
	shares, err := c.Server.DDL.Redistribute(&c.Op, a.ns, a.targets, a.sources)
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginArray("partitions")
	for _, s := range shares {
		b.BeginDoc("")
		b.String("id", partitionName(s.Shard))
		b.Int("throughput", s.RUs)
		b.End()
	}
	b.End()
	return nil
}

// sharesArg reads an argument of RedistributeThroughput.
func sharesArg(c *command.Call, a *customArgs, name string, v bson.Value) (err error) {
	switch {
	case v.IsMissing():
	case name == "equal":
		a.equal, err = c.BoolArg(name, v)
	case name == "sources":
		list, ok := v.Array()
		if !ok {
			return mongoerr.WrongType(c.Field(name), v.Type.String(), "array")
		}
		for it := list.Iter(); it.Next(); {
			id, err := partitionArg(c, name, it.Value)
			if err != nil {
				return err
			}
			a.sources = append(a.sources, id)
		}
	default:
		list, err := c.DocArray(name, v, partitionsMax)
		if err != nil {
			return err
		}
		for _, d := range list {
			s := ratelimit.Share{Shard: -1}
			err := c.ReadFields(name, d,
				arguments.By("id", func(v bson.Value) (err error) { s.Shard, err = partitionArg(c, name+".id", v); return err }).WithNull(),
				arguments.By("throughput", func(v bson.Value) (err error) { s.RUs, err = wholeArg(c, name+".throughput", v); return err }).WithNull(),
			)
			if err != nil {
				return err
			}
			if s.Shard < 0 {
				return mongoerr.MissingField(c.Field(name + ".id"))
			}
			a.targets = append(a.targets, s)
		}
	}
	return err
}
