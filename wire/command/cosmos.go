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

// What is otherwise for clients of the listener that looks like Azure Cosmos DB for MongoDB,
// as far as commands are concerned, one function each. The rules of sorts, keys and streams
// are in shard/cluster/cosmos.go, those of collections and indexes in shard/ddl/cosmos.go.

// TagCosmos is the tag of the listener that looks like Azure Cosmos DB; every
// other listener looks like a mongos, or a replica set: Config.ReplicaSet.
const TagCosmos = "cosmos"

// Strict reports that the client came through the Cosmos listener.
func (c *Call) Strict() bool { return c.Peer.Cosmos != nil }

// cosmosTimeLimit is the longest an operation may take that names no limit of its own.
// Source: Azure Cosmos DB for MongoDB, concepts-limits.
const cosmosTimeLimit = 60 * time.Second

// defaultTimeLimit is how long a command may take that names no limit; 0 is as long as it
// likes.
func (c *Call) defaultTimeLimit() time.Duration {
	switch {
	case c.Strict():
		return cosmosTimeLimit
	case c.Def.Facts.Has(Limited) && !c.writes:
		return c.Server.Hooks.ReadLimit()
	}
	return 0
}

// cosmosTxnMax is how long a transaction may last.
// Source: Azure Cosmos DB for MongoDB, "use-multi-document-transactions".
const cosmosTxnMax = 5 * time.Second

// txnMax is how long the transaction of the command may last; 0 is as long as the parameter
// says.
func (c *Call) txnMax() time.Duration {
	if c.Strict() {
		return cosmosTxnMax
	}
	return 0
}

// noTransaction is the error of a command whose transaction cannot be checked out: the
// service has words of its own for one that is not there.
func (c *Call) noTransaction(err error) error {
	if e := mongoerr.From(err); c.Strict() && e.Code == mongoerr.NoSuchTransaction {
		return mongoerr.New(mongoerr.BadValue, "Transaction is not active")
	}
	return err
}

// throttled is the error of a command that was refused for lack of request units: the
// service has no labels, its text alone says when to come again.
func (c *Call) throttled(e *mongoerr.Error) *mongoerr.Error {
	if c.Strict() && e.Code == ratelimit.CodeThrottled {
		return mongoerr.New(e.Code, "%s", e.Msg)
	}
	return e
}

// RetriesStatements reports that a throttled write is told statement by statement, and
// never as one to be sent again as a whole.
func (c *Call) RetriesStatements() bool { return c.Strict() }

// showsCharge reports that the reply says what the command cost.
func (c *Call) showsCharge() bool {
	return c.Strict() || c.Server.ChargeReplies.Load() || arguments.WantsCharge(c.Comment)
}

// cosmosBatchMax is the largest number of statements in a write command.
// Source: Azure Cosmos DB for MongoDB, "optimize-write-performance".
const cosmosBatchMax = 1000

// cosmosLimits returns the limits of an account. A lenient one counts documents that are too
// large only if drivers send them.
func cosmosLimits(a *cosmos.Account) Limits {
	most := Limits{DocumentBytes: a.DocumentMax(), MessageBytes: wire.MessageSizeMax, BatchStatements: cosmosBatchMax}
	if a.Lenient {
		most.DocumentBytes = bson.MaxDocumentBytes
	}
	return most
}

// Offers reports a command that exists at the address of the client.
func (c *Call) Offers(d *Def) bool { return c.Strict() || !d.Facts.Has(AccountOnly) }

// checkAccount refuses commands and retryable writes that the client's account does not have.
// Errors: those of cosmos.Command, cosmos.RetryableWrites and cosmos.RetryableUnordered.
func (c *Call) checkAccount() error {
	account := c.Peer.Cosmos
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

// unknown returns the error of a command without a row: the account's, if the service lists it.
// Errors: CommandNotFound (59), those of cosmos.Command.
func (c *Call) unknown(name string) error {
	if account := c.Peer.Cosmos; account != nil && cosmos.Command.Find(name) != nil {
		if err := account.Check(cosmos.Command, name); err != nil {
			return err
		}
	}
	return mongoerr.NoCommand(name)
}

// Respond begins a reply in the service's shape: the name of the response type, then ok,
// before the fields. For other clients it does nothing.
func (c *Call) Respond(kind string) {
	if c.Strict() {
		c.RespondAlways(kind)
	}
}

// RespondAlways is Respond for all clients.
func (c *Call) RespondAlways(kind string) {
	c.Reply.String("_t", kind)
	c.Reply.Double("ok", 1)
	c.hasOK = true
}
