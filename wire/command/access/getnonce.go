package access

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/cantledb/cantle/wire/command"
)

// runGetNonce replies with a random number, for old clients: no login mechanism uses it any more.
// Manual: reference/command/getnonce (removed in 4.0).
func runGetNonce(c *command.Call) error {
	var nonce [8]byte
	rand.Read(nonce[:])
	c.Reply.String("nonce", hex.EncodeToString(nonce[:]))
	return nil
}
