package command

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
)

// This file holds the differences between commands at the listener that looks like Azure Cosmos DB for MongoDB and at
// other listeners, one function for each difference. The rules of sorts, keys and streams are in
// shard/cluster/cosmos.go, the rules of collections and indexes in shard/ddl/cosmos.go.

// TagCosmos is the tag of the listener that looks like Azure Cosmos DB. Every other listener looks like a
// mongos, or like a replica set: see Config.ReplicaSet.
const TagCosmos = "cosmos"

// Strict reports whether the client came through the Cosmos listener.
func (c *Call) Strict() bool { return c.ConnState.Cosmos != nil }

// cosmosTimeLimit is the time limit, on the Cosmos listener, of a command without maxTimeMS.
// Source: Azure Cosmos DB for MongoDB, concepts-limits.
const cosmosTimeLimit = 60 * time.Second

// defaultTimeLimit returns the time limit of a command without maxTimeMS; 0 for no limit.
func (c *Call) defaultTimeLimit() time.Duration {
	switch {
	case c.Strict():
		return cosmosTimeLimit
	case c.Def.Facts.Has(Limited) && !c.writes:
		return c.Server.Settings.ReadLimit()
	}
	return 0
}

// cosmosTxnMax is the maximum duration of a multi-document transaction on the Cosmos listener.
// Source: Azure Cosmos DB for MongoDB, "use-multi-document-transactions".
const cosmosTxnMax = 5 * time.Second

// txnMax returns the maximum duration of the command's multi-document transaction; 0 stands for the value of the
// parameter transactionLifetimeLimitSeconds.
func (c *Call) txnMax() time.Duration {
	if c.Strict() {
		return cosmosTxnMax
	}
	return 0
}

// noTransaction converts the error of opening a session's transaction: if the transaction does not exist, clients of
// the Cosmos listener get the error of Azure Cosmos DB.
func (c *Call) noTransaction(err error) error {
	if e := mongoerr.From(err); c.Strict() && e.Code == mongoerr.NoSuchTransaction {
		return mongoerr.New(mongoerr.BadValue, "Transaction is not active")
	}
	return err
}

// RetriesStatements reports whether a write that is throttled gets one error for each statement, so that the client
// retries single statements. Otherwise one error can make the driver retry the whole command. It is true on the
// Cosmos listener.
func (c *Call) RetriesStatements() bool { return c.Strict() }

// showsCharge reports whether the reply contains the charge of the command.
func (c *Call) showsCharge() bool {
	return c.Strict() || c.Server.ChargeReplies.Load() || arguments.WantsCharge(c.Comment)
}

// cosmosBatchMax is the maximum number of statements in a write command on the Cosmos listener.
// Source: Azure Cosmos DB for MongoDB, "optimize-write-performance".
const cosmosBatchMax = 1000

// cosmosLimits returns the limits of requests of an account. A lenient account advertises the document size of
// MongoDB, so that drivers do not refuse larger documents.
func cosmosLimits(a *cosmos.Account) Limits {
	most := Limits{DocumentBytes: a.DocumentMax(), MessageBytes: wire.MessageSizeMax, BatchStatements: cosmosBatchMax}
	if a.Lenient {
		most.DocumentBytes = bson.MaxDocumentBytes
	}
	return most
}

// Offers reports whether a command exists at the listener of the client: AccountOnly commands exist only at the
// Cosmos listener.
func (c *Call) Offers(d *Def) bool { return c.Strict() || !d.Facts.Has(AccountOnly) }

// checkAccount refuses commands and retryable writes that the client's Cosmos DB account does not offer. For clients
// of other listeners it does nothing.
// Errors: errors of cosmos.Command, cosmos.RetryableWrites and cosmos.RetryableUnordered.
func (c *Call) checkAccount() error {
	account := c.ConnState.Cosmos
	if account == nil {
		return nil
	}
	if err := account.Check(cosmos.Command, c.Def.Name); err != nil {
		return err
	}
	if !c.writes || !c.Args.Retryable() {
		return nil
	}
	if err := account.CheckRule(cosmos.RetryableWrites); err != nil {
		return err
	}
	if v := c.Body.Get("ordered"); !v.IsMissing() && !v.Truthy() {
		return account.Refuse(cosmos.RetryableUnordered, cosmos.RetryableUnordered.Refusal("Retryable writes are not supported with ordered: false: send the bulk ordered, or without retryable writes"))
	}
	return nil
}

// unknown returns the error for a command name that has no row, or that the client's listener does not offer. If
// Azure Cosmos DB lists the name, a client of the Cosmos listener gets the error of its account, else
// CommandNotFound.
// Errors: CommandNotFound (59), errors of cosmos.Command.
func (c *Call) unknown(name string) error {
	if account := c.ConnState.Cosmos; account != nil && cosmos.Command.Find(name) != nil {
		if err := account.Check(cosmos.Command, name); err != nil {
			return err
		}
	}
	return mongoerr.NoCommand(name)
}

// Respond begins a reply in the form of Azure Cosmos DB, in which the name of the response type and ok come before
// the other fields. kind is that name. For clients of other listeners Respond does nothing.
func (c *Call) Respond(kind string) {
	if c.Strict() {
		c.RespondAlways(kind)
	}
}

// RespondAlways begins a reply as Respond does, for all clients.
func (c *Call) RespondAlways(kind string) {
	c.Reply.String("_t", kind)
	c.Reply.Double("ok", 1)
	c.hasOK = true
}
