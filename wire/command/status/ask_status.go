package status

import (
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// askCurrentOp: everybody may see what it does itself.
func askCurrentOp(q *command.PrivilegeCheck) {
	if !q.Arg("$ownOps").Truthy() {
		q.NeedOnCluster(auth.Inprog)
	}
}

// askKillOp: everybody may end what it does itself.
func askKillOp(q *command.PrivilegeCheck) {
	n, ok := q.Arg("op").AsInt64()
	for _, op := range q.Call.Server.Ops.List() {
		if ok && op.ID == n && op.User == q.Call.Peer.User {
			return
		}
	}
	q.NeedOnCluster(auth.Killop)
}
