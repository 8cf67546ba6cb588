package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/concern"
)

// takeReadConcern reads a read concern, and refuses times that the store has not reached; a secondary waits for them.
// Errors: errors of ParseRead; InvalidOptions (72); storage errors.
func (c *Call) takeReadConcern(v bson.Value) error {
	level, after, at, err := concern.ParseRead(v)
	if err != nil {
		return err
	}
	if c.Def.Op != OpGetMore { // a getMore ignores this argument: drivers repeat the read concern of the session
		c.ReadConcern, c.Op.At = level, at
	}
	if c.Server.Secondary() {
		return c.postponeTime(at, after)
	}
	if err := c.advanceTime(max(at, after)); err != nil {
		return err
	}
	if at > c.Time {
		return concern.AheadOf("atClusterTime", at, c.Time)
	} else if after > c.Time {
		return concern.AheadOf("afterClusterTime", after, c.Time)
	}
	return nil
}

// fixReadTime chooses the timestamp at which a read sees the data. Outside of transactions, the level "snapshot"
// reads at the client's timestamp, or else at a new one. For the level "linearizable" it fetches a new timestamp from
// the store, because a peer may have committed. Reads of other levels may use a timestamp that this server already
// has, under the assumption that its lease has not expired while the process was suspended.
// Manual: reference/read-concern-snapshot, reference/read-concern-linearizable.
// Errors: errors of SnapshotTime, storage errors.
func (c *Call) fixReadTime() (err error) {
	if c.ReadConcern == "linearizable" {
		_, err = c.Cluster.StoreTime(c.Ctx)
		return err
	}
	if c.ReadConcern == "snapshot" && !c.Args.InTxn && c.Op.At == 0 {
		c.Op.At, err = c.Cluster.SnapshotTime(c.Ctx)
	}
	return err
}

// AppendReadTime appends the timestamp of a snapshot read to the reply, so that the client can read again at that
// timestamp.
// Spec: snapshot-sessions#atclustertime.
func (c *Call) AppendReadTime() {
	if c.ReadConcern == "snapshot" && !c.Args.InTxn && c.Op.At != 0 {
		c.Reply.Timestamp("atClusterTime", c.Op.At.Seconds(), c.Op.At.Increment())
	}
}

// readLevel returns the level of the command's read concern: the client's, or else the default.
func (c *Call) readLevel() string {
	if c.ReadConcern != "" {
		return c.ReadConcern
	}
	return c.ReadDefault
}

// confirmRead waits until the data that a read has returned is on disk, if the read concern level is majority,
// linearizable or snapshot and the durability of the server is Synced: a commit becomes visible a little before it is
// durable. A read in a transaction does not wait, because the transaction waits when it commits.
// Manual: reference/read-concern-majority, reference/read-concern-linearizable.
func (c *Call) confirmRead() error {
	if c.Args.InTxn || c.Server.Durability != storage.Synced || c.Def.ReadConcern == OnlyLocal {
		return nil
	}
	switch c.readLevel() {
	case "majority", "linearizable", "snapshot":
		if c.Cluster.Durable() < c.operationTime() {
			return c.Cluster.Sync(c.Ctx)
		}
	}
	return nil
}
