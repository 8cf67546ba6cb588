package sessions

import (
	"errors"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
)

// runCommit commits the transaction of the session.
// Manual: reference/command/commitTransaction.
func runCommit(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	if !c.Args.InTxn {
		return mongoerr.New(mongoerr.CommandFailed, "commitTransaction must be run within a transaction")
	}
	t, _ := c.Session.Txn().View.(*cluster.Txn)
	c.Server.Cursors.KillTxn(c.Args.ID, c.Args.TxnNumber)
	at, err := c.Session.Commit(c.Ctx, c.Op.Durability)
	switch {
	case err == nil:
		if t != nil {
			c.Cluster.Committed(t, at)
		}
		c.Op.Committed = at
		return nil
	case errors.Is(err, storage.ErrUndetermined):
		return mongoerr.From(cluster.Translate(err)).With(mongoerr.UnknownTransactionCommitResult)
	case errors.Is(err, storage.ErrConflict):
		return mongoerr.From(cluster.Translate(err)).With(mongoerr.TransientTransactionError)
	}
	e := mongoerr.From(cluster.Translate(err))
	if e.Code == mongoerr.NoSuchTransaction {
		e = e.With(mongoerr.TransientTransactionError)
	}
	return e
}

// runAbort aborts the transaction of the session.
// Manual: reference/command/abortTransaction.
func runAbort(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	if !c.Args.InTxn {
		return mongoerr.New(mongoerr.CommandFailed, "abortTransaction must be run within a transaction")
	}
	c.Server.Cursors.KillTxn(c.Args.ID, c.Args.TxnNumber)
	err := c.Session.Abort()
	if e := mongoerr.From(err); err != nil && e.Code == mongoerr.NoSuchTransaction {
		return e.With(mongoerr.TransientTransactionError)
	}
	return err
}
