package command

import (
	"errors"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/auth"
)

// operatorWait is the longest time for which a command waits for the allowance of operators.
const operatorWait = ratelimit.RetrySecondsMax * time.Second

// checkOperator decides whether the command pays from the allowance of operators: its connection is one of the console,
// or its comment requests it ({priority: "operator"}), and its user may. A getMore pays as the command that opened its
// cursor, see PayAs.
func (c *Call) checkOperator() {
	class := &c.Op.Class
	class.Operator = (class.Operator || c.ConnState.Operator) && c.mayOperate() && c.Def.Op != OpGetMore
}

// mayOperate reports whether the user may use the allowance of operators: it needs the privilege serverStatus on the
// cluster, which the role clusterMonitor has. The application's account at the Cosmos listener is no operator.
func (c *Call) mayOperate() bool {
	return !c.Strict() && (!c.Server.RequireAuth || c.ConnState.Login.Allows().MayCluster(auth.ServerStatus))
}

// PayAs makes a getMore pay as the command that opened its cursor, whose class is given.
func (c *Call) PayAs(class ratelimit.Class) {
	c.Op.Class.Operator, c.Op.Class.Group = class.Operator, class.Group
}

// enterBudgets admits the command where its price does not depend on the partitions: to the budget of metadata commands,
// and to the allowance of operators, unless it is a getMore, whose class is that of its cursor.
// Errors: those of chargeMetadata and EnterOperator.
func (c *Call) enterBudgets() error {
	if err := c.chargeMetadata(); err != nil || c.Def.Op == OpGetMore {
		return err
	}
	return c.EnterOperator()
}

// EnterOperator waits until the allowance of operators admits the command, if the command pays from it and reads or
// writes documents.
// Errors: MaxTimeMSExpired (50).
func (c *Call) EnterOperator() error {
	if !c.Op.Class.Operator || !c.Def.Costly() {
		return nil
	}
	c.Op.Env.ReleaseSlot()
	waited, err := c.Cluster.Budgets.EnterOperator(c.Ctx, c.Cluster.Now(), operatorWait)
	c.Op.Waited += waited
	var full *ratelimit.Throttled
	if errors.Is(err, ratelimit.ErrRetryTimeout) || errors.As(err, &full) {
		return mongoerr.New(mongoerr.MaxTimeMSExpired, "The allowance of operators, %d RU/s outside of the budgets, was used up by other commands of operators for %d seconds: "+
			"try again, or read fewer documents", ratelimit.OperatorRUs, ratelimit.RetrySecondsMax)
	}
	return err
}
