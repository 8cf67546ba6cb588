package command

import (
	"errors"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/auth"
)

// requestUnitsMax is the largest maxRequestUnits, in RU.
const requestUnitsMax = 1e9

// LimitRequestUnits sets the cap of the command from its argument maxRequestUnits. A getMore has the cap of the command
// that opened its cursor. An account of Azure Cosmos DB does not have the argument.
// Errors: BadValue (2), TypeMismatch (14), at the Cosmos listener IDLUnknownField (40415).
func (c *Call) LimitRequestUnits(v bson.Value) error {
	if c.Strict() {
		return mongoerr.UnknownField(c.Field("maxRequestUnits"))
	}
	if v.IsNullish() {
		return nil
	}
	if v.IsNumber() && c.Def.Op == OpGetMore {
		return mongoerr.New(mongoerr.BadValue, "cannot set maxRequestUnits on getMore command: that of the command that opened the cursor counts for the whole cursor")
	}
	n, err := c.RequestUnitsArg("maxRequestUnits", v)
	if err == nil && n == 0 {
		err = outOfRequestUnits("maxRequestUnits", v, "(")
	}
	c.requestUnits = n
	return err
}

// RequestUnitsArg reads an argument with the maximum of request units that a command may use; 0 for none.
// Errors: BadValue (2), TypeMismatch (14).
func (c *Call) RequestUnitsArg(name string, v bson.Value) (ratelimit.MicroRU, error) {
	if !v.IsNumber() {
		return 0, mongoerr.WrongType(c.Field(name), v.Type.String(), "long", "int", "decimal", "double")
	}
	n, ok := v.AsFloat()
	if !ok || math.IsNaN(n) || n < 0 || n > requestUnitsMax {
		return 0, outOfRequestUnits(name, v, "[")
	}
	return ratelimit.AmountOf(n), nil
}

// outOfRequestUnits returns the error for a number outside of the range that begins with 0, included ("[") or not ("(").
// Errors: BadValue (2).
func outOfRequestUnits(name string, v bson.Value, from string) error {
	return mongoerr.New(mongoerr.BadValue, "%v value for %s is out of range %s0, %d]", v, name, from, int64(requestUnitsMax))
}

// CapRequestUnits sets the cap of a command on ns by its argument and the defaults of the server, the application and the user; the
// defaults of the collection follow when the command begins to work there (cluster.Op). The smallest holds; but a default
// of the user or of a role takes the place of the server's, so that a user for backups may have a higher one. If the user may set
// the RU/s of ns, an argument holds alone. Defaults are for commands that read or write documents, except those of
// operators.
func (c *Call) CapRequestUnits(ns collection.Namespace) {
	defaults := (c.Def.Costly() || c.Def.Explain != nil) && c.Def.Op != OpGetMore && !c.Op.Class.Operator
	if c.requestUnits != 0 && (!defaults || c.maySetThroughput(ns)) {
		c.newCap(ns, ratelimit.RunawayRule{}).Fix(c.requestUnits)
		return
	}
	if !defaults {
		return
	}
	all, app, then := c.Server.Settings.RequestUnits(c.ConnState.AppName)
	var user, role ratelimit.MicroRU
	if l := c.ConnState.Login; l != nil {
		user, role = l.RequestMax, l.RoleRequestMax
	}
	if c.requestUnits|all|app|user|role == 0 && !c.Cluster.Budgets.HasDefaultCaps() {
		return
	}
	if user|role != 0 {
		all = 0
	}
	most := c.newCap(ns, then)
	most.Lower(c.requestUnits, ratelimit.CapOfCommand)
	most.Lower(all, ratelimit.CapOfServer)
	most.Lower(app, ratelimit.CapOfApplication)
	most.Lower(user, ratelimit.CapOfUser)
	most.Lower(role, ratelimit.CapOfRole)
}

// newCap gives the command a cap on ns that has no maximum yet. A cap that comes from a default acts by the rule then.
func (c *Call) newCap(ns collection.Namespace, then ratelimit.RunawayRule) *ratelimit.RequestCap {
	c.Op.Cap = ratelimit.NewRequestCap(c.Cluster.Budgets.Prices)
	c.Op.Cap.Rule(then, c.noteRunaway(ns))
	return c.Op.Cap
}

// CapByQuerySettings lowers the cap of a read to that of the query settings of its shape. An argument that holds alone
// stays.
func (c *Call) CapByQuerySettings(ns collection.Namespace, limit ratelimit.MicroRU, r ratelimit.RunawayRule) {
	if limit <= 0 || c.Op.Class.Operator {
		return
	}
	if c.Op.Cap == nil {
		c.newCap(ns, ratelimit.RunawayRule{})
	}
	c.Op.Cap.LowerBy(limit, ratelimit.CapOfQuerySettings, r)
}

// noteRunaway returns a function that counts and logs the command when it reaches its cap. It may be called after the command,
// by a getMore.
func (c *Call) noteRunaway(ns collection.Namespace) func(*ratelimit.CapReached) {
	s, name, user, app := c.Server, c.Name(), c.ConnState.User, c.ConnState.AppName
	return func(e *ratelimit.CapReached) {
		s.Stats.Runaways[e.Action()].Add(1)
		s.runawayLog.Warn().Str("command", name).Stringer("ns", ns).Str("user", user.String()).Str("app_name", app).Stringer("action", e.Action()).
			Stringer("limit_of", e.Origin()).Float64("limit", e.Limit().Exact()).Float64("used", e.Used().Float()).Msg("runaway command")
	}
}

// TakeRunaway returns the action of a command that has reached its cap, also in a getMore; ok is true once.
func (c *Call) TakeRunaway() (a ratelimit.RunawayAction, ok bool) {
	if c.Page.Opened != nil {
		return c.Page.Cap.TakeReached()
	}
	return c.Op.Cap.TakeReached()
}

// Runaway returns what TakeRunaway will return.
func (c *Call) Runaway() (a ratelimit.RunawayAction, ok bool) {
	if c.Page.Opened != nil {
		return c.Page.Cap.Reached()
	}
	return c.Op.Cap.Reached()
}

// maySetThroughput reports whether the user may set the RU/s of ns.
func (c *Call) maySetThroughput(ns collection.Namespace) bool {
	return !c.Server.RequireAuth || c.ConnState.Login.Allows().May(auth.SetThroughput, ns)
}

// stoppedAtCap returns the error of a command that was stopped at its cap, with what it had used, the summary of its plan
// and the next step in the text, and errInfo.runaway with the same for programs; other errors are returned as they are.
func (c *Call) stoppedAtCap(e *mongoerr.Error) *mongoerr.Error {
	var t *ratelimit.CapReached
	if e.Code != mongoerr.RequestUnitsExceeded || !errors.As(e, &t) {
		return e
	}
	summary := ""
	if sol := c.Progress().Plan.Load(); sol != nil {
		summary, _ = plan.SummaryOf(sol.Shards)
	}
	b := bson.NewBuilder(nil)
	b.BeginDoc("errInfo")
	b.BeginDoc("runaway")
	b.String("action", t.Action().String())
	b.Double("limit", t.Limit().Exact())
	b.String("limitOf", t.Origin().String())
	b.Double("used", t.Used().Float())
	if summary != "" {
		b.String("planSummary", summary)
	}
	b.End()
	b.End()
	text := e.Msg
	if summary != "" {
		text += ". Its plan was " + summary
	}
	raise := "maxRequestUnits"
	if t.Origin() != ratelimit.CapOfCommand {
		raise = "the default of the " + t.Origin().String()
	}
	return mongoerr.New(e.Code, "%s. Run explain, then add an index, narrow the filter or the batch, or raise %s", text, raise).WithFields(b.Doc().Elements())
}
