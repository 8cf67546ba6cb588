package plans

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// runExplain answers explain: the plan of a command, and with executionStats
// what running it did. Writes are not carried out.
// Manual: reference/command/explain, reference/explain-results.
func (s *State) runExplain(c *command.Call) error {
	if c.Value.IsNullish() {
		return mongoerr.MissingField("explain.explain")
	}
	cmd, ok := c.Value.Doc()
	if !ok {
		return mongoerr.WrongType("explain.explain", c.Value.Type.String(), "object")
	}
	level := explained.AllPlans
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		if name != "verbosity" {
			return false, nil
		}
		if asked, ok, err := cosmosVerbosity(c, v); ok {
			level = asked
			return true, err
		}
		word, err := c.EnumArg(name, v, "queryPlanner", "executionStats", "allPlansExecution")
		switch word {
		case "queryPlanner":
			level = explained.PlanOnly
		case "executionStats":
			level = explained.WithStats
		}
		return true, err
	})
	if err != nil {
		return err
	}
	cmd = cmd.Clone()
	first, ok := cmd.First()
	if !ok {
		return mongoerr.NoCommand("")
	}
	def := c.Server.Lookup(string(first.Name))
	if def == nil {
		return mongoerr.NoCommand(string(first.Name))
	}
	if db, ok := cmd.Get("$db").Str(); ok && db != c.DB {
		return mongoerr.New(mongoerr.InvalidNamespace, "Mismatched $db in explain command. Expected %s but got %s", c.DB, db)
	}
	if def.Explain == nil {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot explain cmd: %s", def.Name)
	}
	inner := *c
	inner.Become(def, cmd)
	x, err := def.Explain(&inner)
	if err != nil {
		return err
	}
	x.Command, x.Level = cmd, level
	return s.explain(&inner, x)
}

// explain opens the read, runs it if asked for, and prints what it knows.
func (s *State) explain(c *command.Call, x *explained.Explained) error {
	r := &report{c: c, x: x, trace: &cluster.Trace{}}
	if shape, err := queryShape(c, x); err == nil { // else the command has the error to tell
		r.shapeHash = shapeHash(shape)
		if r.setting = s.querySettings.of(x, r.shapeHash); r.setting != nil {
			c.Op.Allowed = r.setting.allowed
		}
	}
	if x.Pipeline == nil && c.Server.Virtual.IsDerived(x.Ns) {
		x.Pipeline = agg.NewOutline(x.Find.Stages())
	}
	c.Op.Trace = r.trace
	var stream *cluster.Stream
	var err error
	switch {
	case x.Pipeline != nil:
		stream, err = c.Cluster.Aggregate(&c.Op, x.Ns, x.Pipeline, x.Find.Hint)
	case x.Only && c.Cluster.Catalog.Peek().Collection(x.Ns) != nil:
		stream, err = c.Cluster.FindKeys(&c.Op, x.Ns, x.Find, x.Keys)
	case x.Stage != "":
		stream, err = c.Cluster.FindInside(&c.Op, x.Ns, x.Find) // the documents of a write do not leave their partition
	default:
		stream, err = c.Cluster.Find(&c.Op, x.Ns, x.Find)
	}
	if err != nil {
		return err
	}
	r.s = stream
	if r.estimate, err = stream.Estimate(c.Env(), x.Modify); r.ownFault(err) != nil {
		r.estimate, err = cluster.Estimate{}, nil // what fails has no price
	}
	if err == nil {
		err = r.run()
	}
	stream.Close()
	if err != nil {
		return err
	}
	r.print(c.Reply)
	return c.Env().Interrupted() // then it has left things out
}

// explainPrivileges notes what the explained command needs.
func explainPrivileges(q *command.PrivilegeCheck) {
	if d, ok := q.Value.Doc(); ok {
		q.Nested(d)
	}
}
