package command

import (
	"errors"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
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
	if !v.IsNumber() {
		return mongoerr.WrongType(c.Field("maxRequestUnits"), v.Type.String(), "long", "int", "decimal", "double")
	}
	if c.Def.Op == OpGetMore {
		return mongoerr.New(mongoerr.BadValue, "cannot set maxRequestUnits on getMore command: that of the command that opened the cursor counts for the whole cursor")
	}
	n, ok := v.AsFloat()
	if !ok || math.IsNaN(n) || n <= 0 || n > requestUnitsMax {
		return mongoerr.New(mongoerr.BadValue, "%v value for maxRequestUnits is out of range (0, %d]", v, int64(requestUnitsMax))
	}
	c.Op.Cap = ratelimit.NewRequestCap(max(1, ratelimit.MicroRU(n*float64(ratelimit.RU))), c.Cluster.Budgets.Prices)
	return nil
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
	b.String("action", "stop")
	b.Double("limit", t.Limit().Float())
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
	return mongoerr.New(e.Code, "%s. Run explain, then add an index, narrow the filter or the batch, or raise maxRequestUnits", text).WithFields(b.Doc().Elements())
}
