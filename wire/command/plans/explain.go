package plans

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// explainRequest holds the parsed arguments of an explain, and as a part those of the command that it explains.
type explainRequest struct {
	state *State
	part  *command.Part
	level explained.Verbosity
}

// parseExplain reads the arguments of explain.
func (s *State) parseExplain(c *command.Call) (command.Request, error) {
	if c.Value.IsNullish() {
		return nil, mongoerr.MissingField("explain.explain")
	}
	cmd, ok := c.Value.Doc()
	if !ok {
		return nil, mongoerr.WrongType("explain.explain", c.Value.Type.String(), "object")
	}
	r := &explainRequest{state: s, level: explained.AllPlans}
	err := c.ReadArgs(arguments.By("verbosity", func(v bson.Value) error { return r.readVerbosity(c, v) }))
	if err != nil {
		return nil, err
	}
	first, _ := cmd.First()
	if def := c.Server.Lookup(string(first.Name)); def != nil {
		if def.Explain == nil {
			return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot explain cmd: %s", def.Name)
		}
		if err := c.Env().Cosmos.Check(cosmos.Command, def.Name); err != nil {
			return nil, err
		}
	}
	if r.part, err = c.Part(c.DB, cmd.Clone()); err != nil {
		return nil, err
	}
	if db, ok := cmd.Get("$db").Str(); ok && db != c.DB {
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "Mismatched $db in explain command. Expected %s but got %s", c.DB, db)
	}
	return r, nil
}

// readVerbosity reads the argument verbosity. Errors: TypeMismatch (14), BadValue (2).
func (r *explainRequest) readVerbosity(c *command.Call, v bson.Value) error {
	if asked, ok, err := cosmosVerbosity(c, v); ok {
		r.level = asked
		return err
	}
	word, err := c.EnumArg("verbosity", v, "queryPlanner", "executionStats", "allPlansExecution")
	switch word {
	case "queryPlanner":
		r.level = explained.PlanOnly
	case "executionStats":
		r.level = explained.WithStats
	}
	return err
}

// Needs notes for an explain the privileges that the explained command needs.
func (r *explainRequest) Needs(q *command.PrivilegeCheck) { q.Part(r.part) }

// Run replies to explain with the plan of a command, and at the verbosities executionStats and allPlansExecution also
// with the counters of its execution. Writes are not carried out.
// Manual: reference/command/explain, reference/explain-results.
func (r *explainRequest) Run(c *command.Call) error {
	p := r.part
	if p.Err != nil {
		return p.Err
	}
	inner := *c
	inner.BecomePart(p)
	if v, ok := p.Body.Lookup("maxRequestUnits"); ok {
		if err := inner.LimitRequestUnits(v); err != nil {
			return err
		}
	}
	x, err := p.Def.Explain(&inner, p.Request)
	if err != nil {
		return err
	}
	inner.CapRequestUnits(x.Ns)
	x.Command, x.Level = p.Body, r.level
	if r.level != explained.PlanOnly {
		if err := inner.EnterOperator(); err != nil {
			return err
		}
	}
	err = r.state.Explain(&inner, x)
	c.Op.Receipt.Merge(&inner.Op.Receipt) // explain costs as much as the read that it ran
	return err
}

// Explain opens the read that the explained command would make, runs it if the verbosity requires that, and appends
// the report to the reply.
func (s *State) Explain(c *command.Call, x *explained.Explained) error {
	r := &report{c: c, x: x, trace: &cluster.Trace{}}
	if shape, err := queryShape(c, x); err == nil { // on an error, the opening of the read below returns it
		r.shapeHash = shapeHash(shape)
		r.settings = s.querySettings.of(c, x, shape)
		c.Op.Allowed = r.settings.allowed()
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
	case x.Stage == "COUNT" && c.Cluster.Catalog().Collection(x.Ns) != nil:
		f := x.Find
		f.Skip = x.Skipped
		f.Limit = max(0, f.Limit-f.Skip)
		stream, err = c.Cluster.FindCount(&c.Op, x.Ns, f)
	case x.Only && c.Cluster.Catalog().Collection(x.Ns) != nil:
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
	if r.estimate, err = stream.Estimate(c.Env(), x.Modify); r.queryError(err) != nil {
		r.estimate, err = cluster.Estimate{}, nil // a query that fails has no estimate
	}
	if err == nil {
		err = r.run()
	}
	stream.Close()
	if err != nil {
		return err
	}
	r.print(c.Reply)
	return c.Env().Interrupted() // after an interrupt the report is incomplete
}
