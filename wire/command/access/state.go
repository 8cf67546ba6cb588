package access

import (
	"crypto/x509"

	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// Config is what only this room is told.
type Config struct {
	// Account is whom the Cosmos listener knows beside the users of the directory: the
	// account's name and key. nil = nobody.
	Account *Account
	// Certificate is the server's, nil without TLS. A nil Certificate func is one without
	// TLS.
	Certificate func() *x509.Certificate
	// ClientAuthorities says that clients' certificates are looked at.
	ClientAuthorities bool
}

// State is the room: what its commands share. Safe for concurrent use.
type State struct {
	*command.Server
	Config
	slowdown auth.Slowdown // slowdown is of logins that fail
	loginLog wire.LogRate  // loginLog bounds what the log says of them
	logins   loginCounts   // logins are counted for serverStatus
}

// New makes the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg}
	s.join()
	return s
}
