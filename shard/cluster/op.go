package cluster

import (
	"slices"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Op is one command on its way through the cluster. Not safe for concurrent
// use.
type Op struct {
	Env *mql.Env
	// Class is how the budgets treat the command.
	Class ratelimit.Class
	// AppName of the client, which may put it into a throughput bucket.
	AppName string
	// Strong makes reads cost what they do under a strong consistency level.
	Strong bool
	// Unmetered counts, charges and remembers nothing: to measure what that costs.
	Unmetered bool
	// Waited is how long server-side retry kept the command.
	Waited time.Duration
	// Receipt adds up what the command was charged.
	Receipt ratelimit.Meter
	// Durability of the write concern; what is written is so durable after Harden.
	Durability storage.Durability
	// Txn is the multi-document transaction the command runs in, or nil.
	Txn *Txn
	// At is the snapshot to read at; 0 is the newest.
	At storage.Timestamp
	// Session and TxnNumber of a retryable write or transaction.
	Session   [16]byte
	TxnNumber int64
	// StmtID is the number of the first statement of a retryable write; the others
	// count up, unless StmtIDs has the numbers of all.
	StmtID  int32
	StmtIDs []int32
	// Owner is the digest of the session's user.
	Owner [32]byte
	// User is who runs the command, "name@db"; "" for nobody.
	User string
	// BypassValidation skips validators (bypassDocumentValidation).
	BypassValidation bool
	// Committed is the timestamp of the last commit of the command, 0 if it
	// wrote nothing: the operationTime of its reply.
	Committed storage.Timestamp
	// Seen is the time of the newest state that the command's reads were opened on, 0 if
	// it opened none outside of a transaction.
	Seen storage.Timestamp
	// Record, when set, is called inside the transaction of statements that took
	// effect, before it commits: the place to keep the result of a retryable
	// write. first and last are their places in the command; m is nil for inserts.
	Record func(txn storage.Txn, first, last int, m *Modified) error
	// Forget, when set, is told of transactions that did not commit: what was
	// recorded in them did not happen.
	Forget func(txn storage.Txn)

	// Allowed are the indexes that query settings leave to the command's reads.
	Allowed []plan.Allowed

	// Trace, when set, is told what runs on each shard, for explain.
	Trace *Trace

	meter   ratelimit.Meter      // the statement that runs
	touches touches              // by it
	refused *ratelimit.Throttled // the last refusal of a bulk write's statement
	class   ratelimit.Class      // Class, with the throughput bucket of AppName
	soft    bool                 // something was committed and may not be durable yet
}

// Txn is a multi-document transaction. Its statements read and write through
// one storage transaction and go by one state of the catalog, which is not
// pinned: see writeInTxn.
type Txn struct {
	Store   storage.Txn
	Catalog *catalog.Snapshot
	Level   string            // the read concern it began with, the caller's own; "" for none
	laid    storage.Timestamp // where shards and indexes lie in Store: as of then
	past    *pastTxn          // of a transaction at a time that nobody kept; nil otherwise
	tallies []tallied
	grown   []growth
	written []*catalog.Collection   // by statement, repeated
	made    []keyspace.CollectionID // by the transaction: see createInTxn
	// only is the collection that the transaction is confined to under the rules
	// of Azure Cosmos DB; 0 = none yet.
	only keyspace.CollectionID
	// Guarded by Cluster.intents: the record keys written, and whether the
	// transaction has ended, which closes ended.
	claimed []string
	over    bool
	ended   chan struct{}
}

// confine keeps a transaction within what Azure Cosmos DB allows: one unsharded
// collection.
// Source: Azure Cosmos DB for MongoDB, "use-multi-document-transactions".
// Errors: Location50841.
func (o *Op) confine(coll *catalog.Collection) error {
	if !o.Env.Strict || o.Txn == nil {
		return nil
	}
	if coll.Sharded() {
		return mongoerr.New(50841, "Multi-document transactions cannot be run in a sharded collection")
	}
	if o.Txn.only != 0 && o.Txn.only != coll.ID {
		return mongoerr.New(50841, "Multi-document transactions cannot be run across collections")
	}
	o.Txn.only = coll.ID
	return nil
}

// tallied is a change of counts to be applied after a commit.
type tallied struct {
	coll  keyspace.CollectionID
	shard shard.ID
	tally.Count
}

// under is the op as it is seen by a part of the command that has an environment
// of its own.
func (o *Op) under(env *mql.Env) *Op {
	return &Op{Env: env, Class: o.Class, AppName: o.AppName, Strong: o.Strong, Unmetered: o.Unmetered, Durability: o.Durability, Txn: o.Txn, At: o.At, Session: o.Session,
		TxnNumber: o.TxnNumber, StmtID: o.StmtID, Owner: o.Owner, User: o.User, BypassValidation: o.BypassValidation, Allowed: o.Allowed}
}

// Statement is the number of the i-th statement.
func (o *Op) Statement(i int) int32 {
	if i < len(o.StmtIDs) {
		return o.StmtIDs[i]
	}
	return o.StmtID + int32(i)
}

// begin prepares the op's meter for a statement on a collection.
func (o *Op) begin(c *catalog.Collection) {
	o.meter.Reset(uint64(c.ID), nil)
	o.touches.reset()
	o.meter.SetStrong(o.Strong)
	o.Receipt.SetStrong(o.Strong)
	if o.Env.Meter = &o.meter; o.Unmetered {
		o.Env.Meter = nil
	}
}

// settle charges what the statement did to the budgets and to the receipt.
func (c *Cluster) settle(o *Op) {
	if o.Unmetered || o.meter.Empty() && len(o.touches.list) == 0 {
		return
	}
	c.Budgets.Charge(c.Now(), o.class, &o.meter)
	if len(o.touches.list) > 0 {
		o.touches.charge(c.Budgets.Collection(o.meter.Collection()), &o.meter)
	}
	o.Receipt.Merge(&o.meter)
	o.meter.Reset(o.meter.Collection(), nil)
	o.meter.SetStrong(o.Strong)
}

// admit waits or refuses until the budgets let a statement start on the shards.
func (c *Cluster) admit(o *Op, coll *catalog.Collection, shards []*shard.Descriptor, kind ratelimit.Kind) error {
	place := ratelimit.Place{Collection: uint64(coll.ID)}
	if len(shards) > 0 {
		place.Shard = int(shards[0].ID)
	}
	if t := c.Budgets.Injected(place, kind); t != nil {
		return t
	}
	pool := c.Budgets.Collection(uint64(coll.ID))
	o.class = pool.ClassOf(o.Class, o.AppName)
	if !pool.Limited() && !pool.Shared() {
		return nil
	}
	o.Env.Pause()
	waited, err := c.Budgets.Enter(o.Env.Context(), c.Now(), scopeOf(coll, shards), o.class)
	o.Waited += waited
	return err
}

// limited reports that statements on a collection need to be admitted at all.
func (c *Cluster) limited(coll *catalog.Collection) bool {
	pool := c.Budgets.Collection(uint64(coll.ID))
	return pool.Limited() || pool.Shared()
}

func scopeOf(coll *catalog.Collection, shards []*shard.Descriptor) ratelimit.Scope {
	ids := make([]int, len(shards))
	for i, d := range shards {
		ids[i] = int(d.ID)
	}
	return ratelimit.Scope{Collection: uint64(coll.ID), Shards: ids}
}

// unpaid says that a write has to wait for request units in a place.
type unpaid struct{ scope ratelimit.Scope }

// Error implements error.
func (u *unpaid) Error() string { return "the write waits for request units" }

// admit is Cluster.admit for a write. Where throttled statements wait, the
// attempt ends with *unpaid and the wait comes before the next one: a writer that
// waited with a pin would hold up every change of the catalog.
func (a *attempt) admit(shards []*shard.Descriptor) error {
	if !a.c.limited(a.coll) || !a.c.Budgets.Waits(uint64(a.coll.ID)) {
		return a.c.admit(a.op, a.coll, shards, ratelimit.WriteKind)
	}
	scope := scopeOf(a.coll, shards)
	if p := a.paid; p != nil && p.Collection == scope.Collection && slices.Equal(p.Shards, scope.Shards) {
		return nil
	}
	place := ratelimit.Place{Collection: scope.Collection}
	if len(scope.Shards) > 0 {
		place.Shard = scope.Shards[0]
	}
	if t := a.c.Budgets.Injected(place, ratelimit.WriteKind); t != nil {
		return t // a test wants to see a refusal, whoever would wait otherwise
	}
	a.op.class = a.c.Budgets.Collection(uint64(a.coll.ID)).ClassOf(a.op.Class, a.op.AppName)
	return &unpaid{scope}
}
