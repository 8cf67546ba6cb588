package command

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
)

// How commands behave differently for clients of the listener that looks like Azure Cosmos DB for MongoDB,
// one function for each difference. The rules of sorts, keys and streams are in shard/cluster/cosmos.go,
// those of collections and indexes in shard/ddl/cosmos.go.

// TagCosmos is the tag of the listener that looks like Azure Cosmos DB. Every other listener looks like a
// mongos, or like a replica set: see Config.ReplicaSet.
const TagCosmos = "cosmos"

// Strict reports whether the client came through the Cosmos listener.
func (c *Call) Strict() bool { return c.ConnState.Cosmos != nil }

// cosmosTimeLimit is the time limit of an operation that sets none itself.
// Source: Azure Cosmos DB for MongoDB, concepts-limits.
const cosmosTimeLimit = 60 * time.Second

// defaultTimeLimit returns the time limit of a command that sets none itself; 0 for no limit.
func (c *Call) defaultTimeLimit() time.Duration {
	switch {
	case c.Strict():
		return cosmosTimeLimit
	case c.Def.Facts.Has(Limited) && !c.writes:
		return c.Server.Settings.ReadLimit()
	}
	return 0
}

// cosmosTxnMax is the maximum duration of a transaction.
// Source: Azure Cosmos DB for MongoDB, "use-multi-document-transactions".
const cosmosTxnMax = 5 * time.Second

// txnMax returns the maximum duration of the command's transaction; 0 for the value of the parameter
// transactionLifetimeLimitSeconds.
func (c *Call) txnMax() time.Duration {
	if c.Strict() {
		return cosmosTxnMax
	}
	return 0
}

// noTransaction converts the error of a checkout that failed: Azure Cosmos DB has its own error for a
// transaction that does not exist.
func (c *Call) noTransaction(err error) error {
	if e := mongoerr.From(err); c.Strict() && e.Code == mongoerr.NoSuchTransaction {
		return mongoerr.New(mongoerr.BadValue, "Transaction is not active")
	}
	return err
}

// throttled converts the error of a command that was refused for lack of request units: Azure Cosmos DB has
// no error labels, and only the text contains the time after which to retry.
func (c *Call) throttled(e *mongoerr.Error) *mongoerr.Error {
	if c.Strict() && e.Code == ratelimit.CodeThrottled {
		return mongoerr.New(e.Code, "%s", e.Msg)
	}
	return e
}

// RetriesStatements reports whether a throttled write has an error for each statement, and never one that
// makes the driver retry the whole command.
func (c *Call) RetriesStatements() bool { return c.Strict() }

// showsCharge reports whether the reply contains the charge of the command.
func (c *Call) showsCharge() bool {
	return c.Strict() || c.Server.ChargeReplies.Load() || arguments.WantsCharge(c.Comment)
}

// cosmosBatchMax is the largest number of statements in a write command.
// Source: Azure Cosmos DB for MongoDB, "optimize-write-performance".
const cosmosBatchMax = 1000

// cosmosLimits returns the limits of an account. A lenient account advertises the document size of MongoDB,
// so that larger documents are refused only if drivers send them.
func cosmosLimits(a *cosmos.Account) Limits {
	most := Limits{DocumentBytes: a.DocumentMax(), MessageBytes: wire.MessageSizeMax, BatchStatements: cosmosBatchMax}
	if a.Lenient {
		most.DocumentBytes = bson.MaxDocumentBytes
	}
	return most
}

// Offers reports whether a command exists at the address of the client.
func (c *Call) Offers(d *Def) bool { return c.Strict() || !d.Facts.Has(AccountOnly) }

// checkAccount refuses commands and retryable writes that the client's account does not have.
// Errors: those of cosmos.Command, cosmos.RetryableWrites and cosmos.RetryableUnordered.
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

// unknown returns the error for a command without a row: the error of the account, if Azure Cosmos DB lists
// the command.
// Errors: CommandNotFound (59), those of cosmos.Command.
func (c *Call) unknown(name string) error {
	if account := c.ConnState.Cosmos; account != nil && cosmos.Command.Find(name) != nil {
		if err := account.Check(cosmos.Command, name); err != nil {
			return err
		}
	}
	return mongoerr.NoCommand(name)
}

// Respond begins a reply in the form of Azure Cosmos DB: the name of the response type and ok come before the
// fields. For clients of other listeners it does nothing.
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
