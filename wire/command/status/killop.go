package status

import (
	"context"
	"math"
	"strconv"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// killOpRequest is a killOp whose argument has been parsed: the number of an operation.
type killOpRequest int64

// parseKillOp reads the arguments of killOp. Unknown ones are ignored.
func parseKillOp(c *command.Call) (command.Request, error) {
	v, ok := c.Body.Lookup("op")
	if !ok {
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"op\"")
	}
	if !v.IsNumber() {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "Expected field \"op\" to have numeric type, but found %s", v.Type)
	}
	n, ok := v.AsInt64()
	if !ok {
		f, _ := v.AsFloat()
		if f != math.Trunc(f) || math.IsNaN(f) {
			return nil, mongoerr.New(mongoerr.BadValue, "Expected field \"op\" to have a value exactly representable as a 64-bit integer, but found op: %v", f)
		}
		n = math.MaxInt64
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return nil, mongoerr.New(26823, "invalid op : %d. Op ID cannot be represented with 32 bits", n)
	}
	return killOpRequest(n), nil
}

// Needs notes the privilege of killOp to end operations of other users; every user may end its own operations on this
// server.
func (n killOpRequest) Needs(q *command.PrivilegeCheck) {
	for _, op := range q.Call.Server.Ops.List() {
		if op.ID == int64(n) && op.User == q.Call.ConnState.User {
			return
		}
	}
	q.NeedOnCluster(auth.Killop)
}

// Run interrupts a command that may run on any server over the store. The reply is the same if there is none.
// Manual: reference/command/killOp.
func (r killOpRequest) Run(c *command.Call) error {
	n := int64(r)
	c.Reply.String("info", "attempting to kill op")
	if c.Server.Ops.Kill(n, cluster.ErrKilled) {
		return nil
	}
	_, _, err := c.Cluster.Peers.Call(c.Ctx, killKind, strconv.AppendInt(nil, n, 10))
	return err
}

// killKind is the kind of call to peers that ends an operation running there.
const killKind = "killOp"

// answerKill ends an operation of this server for a peer.
func (s *State) answerKill(_ context.Context, body []byte) ([]byte, error) {
	n, err := strconv.ParseInt(string(body), 10, 64)
	if err == nil {
		s.Ops.Kill(n, cluster.ErrKilled)
	}
	return nil, err
}
