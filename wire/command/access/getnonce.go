package access

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/cantledb/cantle/wire/command"
)

// runGetNonce answers getnonce with a random number. No mechanism of logins uses it any more.
// Manual: reference/command/getnonce (removed in 4.0).
func runGetNonce(c *command.Call) error {
	var nonce [8]byte
	rand.Read(nonce[:])
	c.Reply.String("nonce", hex.EncodeToString(nonce[:]))
	return nil
}
