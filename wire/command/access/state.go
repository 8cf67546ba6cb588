package access

import (
	"crypto/x509"

	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// Config holds the parameters of this room.
type Config struct {
	// Account is the account as which clients of the Cosmos listener can log in, in addition to the users of the
	// directory; nil for none.
	Account *Account
	// Certificate returns the TLS certificate of the server, nil without TLS; the function itself may also be nil.
	Certificate func() *x509.Certificate
	// ClientAuthorities is true if certificates of clients are verified.
	ClientAuthorities bool
}

// State is the room of the commands on users and logins, with the state that they share. It is safe for concurrent use.
type State struct {
	*command.Server
	Config
	loginThrottle auth.LoginThrottle // delays logins after failures
	loginLog      wire.LogRate       // bounds the number of log lines about failures
	logins        loginCounts        // counts for serverStatus
}

// New returns the room, and joins it to the server.
func New(server *command.Server, cfg Config) *State {
	s := &State{Server: server, Config: cfg}
	s.join()
	return s
}
