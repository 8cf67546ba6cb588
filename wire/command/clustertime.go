package command

import "github.com/cantledb/cantle/storage"

// operationTime returns a timestamp at which everything that the command wrote or read is visible. The
// store's newest timestamp is used only if the command neither committed nor read at a known one: other
// commands may have committed since it arrived.
func (c *Call) operationTime() storage.Timestamp {
	if at := max(c.Op.Committed, c.Op.At, c.Op.ReadTime); at != 0 {
		return at
	}
	return c.Cluster.Latest()
}

// advanceTime reads the current timestamp from the store if a read requires a later one than c.Time: a peer may
// have committed since. Errors: storage errors.
func (c *Call) advanceTime(wanted storage.Timestamp) (err error) {
	if wanted > c.Time {
		c.Time, err = c.Cluster.StoreTime(c.Ctx)
	}
	return err
}

// appendTimes ends a reply with $clusterTime, the newest timestamp that the client may use, and with the
// operationTime of the command. The signature is that of a server without keys.
// Spec: causal-consistency, sessions/driver-sessions (gossipping the cluster time).
func (c *Call) appendTimes() {
	b, at := c.Reply, c.operationTime()
	newest := max(c.Time, at)
	b.BeginDoc("$clusterTime")
	b.Timestamp("clusterTime", newest.Seconds(), newest.Increment())
	b.BeginDoc("signature")
	b.Binary("hash", 0, zeroHash[:])
	b.Int64("keyId", 0)
	b.End()
	b.End()
	b.Timestamp("operationTime", at.Seconds(), at.Increment())
}

// zeroHash is the hash in a signature without a key.
var zeroHash [20]byte
