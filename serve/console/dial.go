package console

import (
	"context"
	"net"

	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// Dial opens a connection to a server without a network, and logs in a user by SCRAM; a user without a name is not
// logged in. local is the address of the client. run runs commands over the connection, one at a time, until hangUp
// ends it.
// Errors: AuthenticationFailed (18); a server that accepts no connections.
func Dial(ctx context.Context, s *command.Server, local net.Addr, user auth.Name, password string) (run RunCommand, hangUp func(), err error) {
	var ids connIDs
	in, err := ids.dial(s, local, local, nil)
	if err != nil {
		return nil, nil, err
	}
	if err = in.introduce(ctx); err == nil && user.Name != "" {
		err = in.authenticate(ctx, user, password)
	}
	if err != nil {
		in.hangUp()
		return nil, nil, err
	}
	return in.run, in.hangUp, nil
}

// run is runCommand as a RunCommand.
func (c *localConn) run(ctx context.Context, db string, command []byte) ([]byte, error) {
	return c.runCommand(ctx, db, command)
}
