package status

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runShutdown stops the server as a signal does: running commands may end, this command included, so that its reply
// arrives. The time limit for that is a setting of the server (--drain). The arguments force and timeoutSecs have no
// effect, because there are no secondaries to wait for.
// Manual: reference/command/shutdown.
// Errors: Unauthorized (13) without access control from a network address other than loopback; IllegalOperation (20)
// if the server is embedded in a program, which stops the server itself.
func (s *State) runShutdown(c *command.Call) error {
	err := c.ReadArgs(
		arguments.Bool("force", nil),
		arguments.Long("timeoutSecs", nil).Least(0),
	)
	if err != nil {
		return err
	}
	if !s.RequireAuth && !command.Local(c.Conn.Remote()) {
		return mongoerr.New(mongoerr.Unauthorized, "shutdown must run from localhost when running without --auth")
	}
	if s.Shutdown == nil {
		return mongoerr.New(mongoerr.IllegalOperation, "This server is a part of a program, which ends it; no client can")
	}
	s.Log.Warn().Int64("conn", c.Conn.ID()).Stringer("remote", c.Conn.Remote()).Str("user", c.ConnState.User.String()).Msg("shutdown requested by a client")
	s.Shutdown()
	return nil
}
