package command

import "github.com/cantledb/cantle/storage"

// operationTime returns a timestamp at which everything that the command wrote or read is visible, for the field
// operationTime of the reply. If the command has neither committed nor read at a known timestamp, it is the newest
// timestamp that this server has: other commands may have committed since the command arrived.
func (c *Call) operationTime() storage.Timestamp {
	if at := max(c.Op.Committed, c.Op.At, c.Op.ReadTime); at != 0 {
		return at
	}
	return c.Cluster.Latest()
}

// advanceTime sets c.Time to the store's current timestamp if a read requires a later timestamp than c.Time, because
// a peer may have committed since c.Time was read. Errors: storage errors.
func (c *Call) advanceTime(wanted storage.Timestamp) (err error) {
	if wanted > c.Time {
		c.Time, err = c.Cluster.StoreTime(c.Ctx)
	}
	return err
}

// appendTimes ends a reply with $clusterTime, the later of Call.Time and operationTime, and with the operationTime of
// the command. The signature in $clusterTime is that of a server without keys: zeros.
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
