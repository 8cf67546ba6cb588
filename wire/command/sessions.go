package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/session"
)

// enterSession notes that the command uses its session. If the command has a transaction number, enterSession also
// checks the session out, which excludes other commands from it. In a transaction that the command does not end, it
// also opens the transaction.
// Errors: errors of session.Checkout, checkTxn and openTxn; 50768, APIMismatchError (347).
func (s *Server) enterSession(c *Call) error {
	a := &c.Args
	if a.ID.IsZero() {
		return nil
	}
	if !a.Numbered() {
		return s.Sessions.Touch(a.ID, c.Account())
	}
	a.Ending, a.API, a.Account = c.Def.Ends(), c.API, c.Account()
	if a.ID.Owner == c.ConnState.Owner { // another owner: the user impersonates, see MayUse
		a.User = c.ConnState.User.ID
	}
	if a.Retryable() && !c.Def.Facts.Has(Retryable) {
		return mongoerr.New(50768, "txnNumber may only be provided for multi-document transactions and retryable write commands. "+
			"autocommit:false was not provided, and %s is not a retryable write command.", c.Name())
	}
	if a.InTxn {
		if err := c.checkTxn(); err != nil {
			return err
		}
		op := c.Running // a copy, because the connection reuses the Call for its next command
		a.Interrupt = op.Interrupt
		a.TxnMax = c.txnMax()
	}
	var err error
	if c.Session, err = s.Sessions.Checkout(c.Ctx, *a); err != nil {
		return c.noTransaction(err)
	}
	if a.InTxn && c.Session.State() == session.InProgress {
		if err := c.SameAPI(c.Session.API(), "transaction-continuing command", "transaction's first command"); err != nil {
			c.Session.Checkin()
			c.Session = nil
			return err
		}
	}
	c.Op.Session, c.Op.TxnNumber, c.Op.Owner = a.ID.UUID, a.TxnNumber, a.ID.Owner
	if a.InTxn && !a.Ending {
		if err := s.openTxn(c); err != nil {
			c.Session.Checkin()
			c.Session = nil
			return err
		}
	}
	return nil
}

// openTxn sets the transaction of the session as the one in which the command reads and writes. If the command is the
// first of the transaction, openTxn begins it.
func (s *Server) openTxn(c *Call) error {
	if t, ok := c.Session.Txn().View.(*cluster.Txn); ok {
		c.Op.Txn = t
		return nil
	}
	if ns, err := c.Namespace(); err == nil { // else the command has no namespace
		if err := s.Cluster.ExpireDue(&c.Op, ns); err != nil {
			return err
		}
	}
	t, err := s.Cluster.BeginTxn(&c.Op)
	if err != nil {
		return err
	}
	t.Level = c.ReadConcern
	c.Session.Attach(session.Holding{Txn: t.Store, View: t})
	c.pinTxn()
	c.Op.Txn = t
	return nil
}

// leaveSession checks the session in at the end of a command and returns err. If the command or one of its statements
// failed inside a transaction, it aborts the transaction, except after a command that ends the transaction.
// Manual: core/transactions-in-applications (errors abort the transaction).
func (s *Server) leaveSession(c *Call, err error) error {
	if c.Session == nil {
		return err
	}
	if (err != nil || len(c.results.failed) > 0) && c.Args.InTxn && !c.Args.Ending && c.Session.State() == session.InProgress {
		s.Cursors.KillTxn(c.Args.ID, c.Args.TxnNumber)
		if aerr := c.Session.Abort(); aerr != nil {
			s.Log.Warn().Err(aerr).Msg("a failed transaction could not be aborted")
		}
	}
	if err == nil {
		c.rememberResults()
	} else if c.Args.Retryable() {
		c.Session.Invalidate(err) // some statements may have taken effect
	}
	c.Session.Checkin()
	return err
}

// dropSession checks the session in after a panic of the command. It also aborts an open transaction, because the
// locks of its writes would keep blocking other commands.
func (s *Server) dropSession(c *Call) {
	if c.Session == nil {
		return
	}
	if c.Session.State() == session.InProgress {
		s.Cursors.KillTxn(c.Args.ID, c.Args.TxnNumber)
		if err := c.Session.Abort(); err != nil {
			s.Log.Warn().Err(err).Msg("the transaction of a command that panicked could not be aborted")
		}
	}
	c.Session.Invalidate(nil)
	c.Session.Checkin()
	c.Session = nil
}

// appendRecoveryToken appends the recoveryToken of a transaction to the reply: the shard that has the transaction's
// outcome. Drivers send the token with commitTransaction to any mongos; here every server has the outcome, so the
// shard is always the same.
// Spec: transactions#recoverytoken-field.
func appendRecoveryToken(b *bson.Builder) {
	b.BeginDoc("recoveryToken")
	b.String("recoveryShardId", ShardName(0))
	b.End()
}
