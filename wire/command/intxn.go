package command

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// This file holds the restrictions on commands inside a multi-document transaction. A command that is not allowed at
// all lacks the fact InTxn in its row; a stage that is allowed has agg.InTransaction.

// checkTxn refuses a command in a multi-document transaction whose arguments or database are not allowed there, such
// as a write concern, or that cannot be its first command. Of a command that ends the transaction it checks only
// recoveryToken.
// Manual: core/transactions#read-concern-write-concern-read-preference,
// core/transactions-operations#restricted-operations.
// Errors: TypeMismatch (14), InvalidOptions (72), OperationNotSupportedInTransaction (263).
func (c *Call) checkTxn() error {
	a := &c.Args
	if a.Ending {
		if v, ok := c.Body.Lookup("recoveryToken"); ok && !v.IsNullish() && v.Type != bson.TypeDocument {
			return mongoerr.WrongType(c.Field("recoveryToken"), v.Type.String(), "object")
		}
		return nil
	}
	if a.Start && c.Def.Facts.Has(NotFirst) {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run %s as the first operation in a multi-document transaction.", c.Name())
	}
	if c.WriteConcern.Given {
		return mongoerr.New(mongoerr.InvalidOptions, "writeConcern is not allowed within a multi-statement transaction")
	}
	if v, ok := c.Body.Lookup("readConcern"); ok && !v.IsNullish() {
		switch {
		case !a.Start:
			return mongoerr.New(mongoerr.InvalidOptions, "Only the first command in a transaction may specify a readConcern")
		case c.ReadConcern == "linearizable", c.ReadConcern == "available":
			return mongoerr.New(mongoerr.InvalidOptions, "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction")
		}
	}
	if c.Def.Namespace == FirstField {
		return notInTxn(c.DB)
	}
	return nil
}

// notInTxn refuses the databases that transactions may not use.
func notInTxn(db string) error {
	switch db {
	case "admin", "config", "local":
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run command against the '%s' database in a transaction.", db)
	}
	return nil
}

// CheckTxnLevel refuses a command that creates a collection or an index explicitly, if it runs in a transaction with
// a read concern level other than local.
// Manual: reference/read-concern-local#read-concern--local--and-transactions.
// Errors: InvalidOptions (72).
func (c *Call) CheckTxnLevel() error {
	if c.Op.Txn == nil {
		return nil
	}
	switch c.Op.Txn.Level {
	case "", "local":
		return nil
	}
	return mongoerr.New(mongoerr.InvalidOptions, "Command %s does not support { readConcern: { level: \"%s\" } } of its transaction", c.Name(), c.Op.Txn.Level)
}

// mayWriteInTxn refuses to write a namespace that transactions may not write: the databases admin, config and local,
// system collections and time series. how is the statement's verb, such as "insert", for the error text.
// Manual: core/transactions-operations#restricted-operations, core/timeseries/timeseries-limitations.
// Errors: OperationNotSupportedInTransaction (263), 50791.
func (c *Call) mayWriteInTxn(ns collection.Namespace, how string) error {
	if !c.Args.InTxn {
		return nil
	}
	if err := notInTxn(ns.DB); err != nil {
		return err
	}
	if strings.HasPrefix(ns.Coll, "system.") {
		return mongoerr.New(50791, "Cannot write to system collection %s within a transaction.", ns)
	}
	if coll := c.Cluster.Catalog().Collection(ns); coll != nil && coll.Options.TimeSeries != nil {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot %s a time-series collection in a multi-document transaction: %s", how, ns)
	}
	return nil
}
