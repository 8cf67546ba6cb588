package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire"
)

// ClientInfo is what a client says of itself.
type ClientInfo struct {
	AppName string
	Driver  string // its name
	Doc     bson.Raw
}

// Connection is a client connection and what is remembered of it.
type Connection struct {
	Conn wire.Conn
	Peer *Peer
}
