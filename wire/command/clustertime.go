package command

import "github.com/cantledb/cantle/storage"

// operationTime is a time at which everything can be seen that the command wrote or read.
// Only where neither what it committed nor what it read from says it, is the store asked
// again: others may have committed since the command came.
func (c *Call) operationTime() storage.Timestamp {
	if at := max(c.Op.Committed, c.Op.At, c.Op.Seen); at != 0 {
		return at
	}
	return c.Cluster.Store.Latest()
}

// reach asks the store what time it is if a read wants a later one than this process has
// met: another one may have committed since. Errors: storage errors.
func (c *Call) reach(wanted storage.Timestamp) (err error) {
	if wanted > c.Time {
		c.Time, err = c.Cluster.Store.Now(c.Ctx)
	}
	return err
}

// appendTimes ends a reply with the newest time the client may know of, and with that of
// its command. Signatures are those of a server without keys.
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

// zeroHash is the hash of a signature without a key.
var zeroHash [20]byte
