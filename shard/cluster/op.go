package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
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
	// Writes is what the user's uncommitted writes are counted in; nil = with everybody's.
	Writes storage.Memory
	// User is who runs the command.
	User collection.User
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

	// WriteBlock is why writes to databases of users are refused now; nil while they are not.
	// Manual: reference/command/setUserWriteBlockMode.
	WriteBlock *mongoerr.Error
	// Allowed are the indexes that query settings leave to the command's reads.
	Allowed []plan.Allowed

	// Planned, when set, is told the plan of the read that runs, for who lists the command.
	Planned *atomic.Pointer[plan.Solution]
	// Row, when set, is memory for the document of a read by _id, whose caller copies it before
	// it reads on.
	Row *exec.RowMemory
	// Trace, when set, is told what runs on each shard, for explain.
	Trace *Trace

	meter   ratelimit.Meter      // the statement that runs
	touches touches              // by it
	refused *ratelimit.Throttled // the last refusal of a bulk write's statement
	class   ratelimit.Class      // Class, with the throughput bucket of AppName
	paid    *ratelimit.Scope     // where the write that runs has been admitted already
	soft    bool                 // something was committed and may not be durable yet
}

// under is the op as a pipeline inside the command's own sees it, which has an
// environment of its own and may run beside the command. Such a pipeline only reads:
// what is about writes is left out (Durability, Session, TxnNumber, StmtID, StmtIDs,
// Owner, BypassValidation, WriteBlock, Record, Forget). So are what the command counts for itself
// (Waited, Receipt, Committed, Seen), which it goes on changing meanwhile, and Planned and
// Trace, which show the command's own pipeline only.
func (o *Op) under(env *mql.Env) *Op {
	return &Op{Env: env, Class: o.Class, AppName: o.AppName, Strong: o.Strong, Unmetered: o.Unmetered, Txn: o.Txn, At: o.At, User: o.User, Allowed: o.Allowed}
}

// MayWrite refuses a write to a database of users while such are blocked, be it to documents or
// to what the database has. Errors: WriteBlock.
func (o *Op) MayWrite(db string) error {
	if o.WriteBlock == nil || collection.IsInternal(db) {
		return nil
	}
	return o.WriteBlock
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

// Harden waits until what the statements of an op have written and read is durable,
// if its write concern asks for that: one wait serves all of them. It is called
// before the client is told of them, whatever became of the command. Errors: the context's,
// which undoes nothing: it is not known yet whether all of it is durable.
func (c *Cluster) Harden(ctx context.Context, o *Op) error {
	if !o.soft || o.Durability != storage.Synced {
		return nil
	}
	o.soft = false
	return c.sync(ctx)
}
