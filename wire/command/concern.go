package command

import "github.com/cantledb/cantle/storage"

// fixReadTime gives a read of the level "snapshot" outside of transactions the
// newest time, unless it names one. One of the level "linearizable" asks the store for the
// time: the others trust that this server has not lost its place while it slept.
// Manual: reference/read-concern-snapshot, reference/read-concern-linearizable.
// Errors: those of SnapshotTime, storage errors.
func (c *Call) fixReadTime() (err error) {
	if c.ReadConcern == "linearizable" {
		_, err = c.Cluster.Store.Now(c.Ctx)
		return err
	}
	if c.ReadConcern == "snapshot" && !c.Args.InTxn && c.Op.At == 0 {
		c.Op.At, err = c.Cluster.SnapshotTime(c.Ctx)
	}
	return err
}

// AppendReadTime tells the client of a snapshot read at which time it read, so
// that it can read on there. Spec: snapshot-sessions#atclustertime.
func (c *Call) AppendReadTime() {
	if c.ReadConcern == "snapshot" && !c.Args.InTxn && c.Op.At != 0 {
		c.Reply.Timestamp("atClusterTime", c.Op.At.Seconds(), c.Op.At.Increment())
	}
}

// readLevel is the level that a read has in the end.
func (c *Call) readLevel() string {
	if c.ReadConcern != "" {
		return c.ReadConcern
	}
	return c.ReadDefault
}

// confirmRead waits until what a read has seen is durable, where the client may
// rely on it: a commit is visible a little before it is on disk. Transactions see
// to that when they commit.
// Manual: reference/read-concern-majority, reference/read-concern-linearizable.
func (c *Call) confirmRead() error {
	if c.Args.InTxn || c.Server.Durability != storage.Synced || c.Def.ReadConcern == OnlyLocal {
		return nil
	}
	switch c.readLevel() {
	case "majority", "linearizable", "snapshot":
		if store := c.Cluster.Store; store.Durable() < c.operationTime() {
			return store.Sync(c.Ctx)
		}
	}
	return nil
}
