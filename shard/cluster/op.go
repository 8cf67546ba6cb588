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

// LockWait observes the time for which a command waits for others, for currentOp.
type LockWait interface {
	Begin(now time.Time)
	End(now time.Time)
}

// Op is one command on its way through the cluster. Not safe for concurrent
// use.
type Op struct {
	Env *mql.Env
	// Class determines how the budgets treat the command.
	Class ratelimit.Class
	// AppName is the name that the client's program gave itself; it may select a throughput bucket.
	AppName string
	// Strong charges reads at the price of a strong consistency level.
	Strong bool
	// Unmetered turns off counting, charging and remembering, to measure their cost.
	Unmetered bool
	// Waited is the time that the command spent in server-side retry.
	Waited time.Duration
	// LockWait observes the waits of DDL for the transactions that have written to its collection; nil for no observer.
	LockWait LockWait
	// Receipt sums the charges of the command.
	Receipt ratelimit.Meter
	// Cap is the maximum of request units of the command; nil for none.
	Cap *ratelimit.RequestCap
	// Durability is the durability that the write concern requires; writes have it after WaitDurable.
	Durability storage.Durability
	// Txn is the multi-document transaction the command runs in, or nil.
	Txn *Txn
	// At is the time of the state to read; 0 is the newest.
	At storage.Timestamp
	// Session and TxnNumber of a retryable write or transaction.
	Session   [16]byte
	TxnNumber int64
	// StmtID is the number of the first statement of a retryable write; the others
	// count up from it, unless StmtIDs holds the numbers of all.
	StmtID  int32
	StmtIDs []int32
	// Owner is the digest of the session's user.
	Owner [32]byte
	// Writes counts the memory of the user's uncommitted writes; nil counts them with those of all
	// users.
	Writes storage.Memory
	// User is the user that runs the command.
	User collection.User
	// Viewer decides which values of documents the user may see outside of queries; nil lets the user see all.
	Viewer Viewer
	// Caller is the origin of the command, for the statistics of hot keys; nil if it has none.
	Caller *ratelimit.Caller
	// Expected is the collection that the client expects under the command's namespace; the zero value for none.
	Expected catalog.Expected
	// BypassValidation skips validators (bypassDocumentValidation).
	BypassValidation bool
	// Refusals lists the statements that budgets refused.
	Refusals []Refusal
	// Committed is the timestamp of the last commit of the command, 0 if it wrote nothing; the operationTime of its
	// reply is not before it.
	Committed storage.Timestamp
	// ReadTime is the time of the newest state on which the command's reads were opened; 0 if all were in a
	// transaction or at the time At.
	ReadTime storage.Timestamp
	// Record, if set, is called inside the transaction of inserted documents or of a statement for one document,
	// before the commit, to store the retryable write record. first and last are the indexes of the statements in the
	// command; m is nil for inserts.
	Record func(txn storage.Txn, first, last int, m *Modified) error
	// Forget, if set, is called for transactions that did not commit: what Record
	// stored in them did not take effect.
	Forget func(txn storage.Txn)

	// WriteBlock is the reason for which writes to users' databases are refused; nil if they are
	// allowed.
	// Manual: reference/command/setUserWriteBlockMode.
	WriteBlock *mongoerr.Error
	// Allowed holds the indexes that query settings (setQuerySettings) leave to the command's reads.
	Allowed []plan.Allowed

	// Planned, if set, receives the plan of the running read, so that listings of running commands can show it.
	Planned *atomic.Pointer[plan.Solution]
	// Row, if set, is memory for the document of a read by _id. The caller copies it before
	// it reads on.
	Row *exec.RowMemory
	// Trace, if set, collects the operators of each shard, for explain or the profiler.
	Trace *Trace

	meter     ratelimit.Meter      // of the running statement
	touches   touches              // of the running statement
	reach     reach                // of the running statement
	key       chargedKey           // the shard key value for which the command was charged
	refused   *ratelimit.Throttled // the last refusal of a bulk write's statement
	class     ratelimit.Class      // Class, with the throughput bucket of AppName
	paid      *ratelimit.Scope     // where the running write has been admitted already
	needsSync bool                 // something was committed and may not be durable yet
}

// forSubPipeline returns the op for a pipeline inside the command's own, which has an environment of its own and may
// run concurrently with the command. Such a pipeline only reads, so the fields for writes are left out (Durability,
// Session, TxnNumber, StmtID, StmtIDs, Owner, Writes, BypassValidation, WriteBlock, Record, Forget). So are the
// command's own counters (Waited, Receipt, Committed, ReadTime), which the command changes meanwhile, and Planned,
// Row and Trace, which are for the command's own pipeline.
func (o *Op) forSubPipeline(env *mql.Env) *Op {
	return &Op{Env: env, Class: o.Class, AppName: o.AppName, Strong: o.Strong, Unmetered: o.Unmetered, Cap: o.Cap, Txn: o.Txn, At: o.At, User: o.User, Viewer: o.Viewer, Allowed: o.Allowed}
}

// MayWrite returns an error for a write to a user's database while such writes are blocked, whether
// of documents or of data definition. Errors: WriteBlock.
func (o *Op) MayWrite(db string) error {
	if o.WriteBlock == nil || collection.IsInternal(db) {
		return nil
	}
	return o.WriteBlock
}

// CheckExpected returns an error unless the command's namespace has the UUID that the client expects, in the catalog
// that the command uses. Reads, writes and changes of the catalog check again in the state that they use.
// Errors: CollectionUUIDMismatch (361).
func (c *Cluster) CheckExpected(o *Op) error { return c.latest(o).CheckUUID(o.Expected, o.Env.Release) }

// Statement returns the number of the i-th statement.
func (o *Op) Statement(i int) int32 {
	if i < len(o.StmtIDs) {
		return o.StmtIDs[i]
	}
	return o.StmtID + int32(i)
}

// Viewer decides what the user of a command may see.
type Viewer interface {
	// SeesValues reports whether the user may read the documents of a collection.
	SeesValues(ns collection.Namespace) bool
}

// Paid returns the class by which the command's last statement was admitted, with the throughput bucket of AppName; the
// class of the command if no statement needed admission.
func (o *Op) Paid() ratelimit.Class {
	if o.class.Group != 0 {
		return o.class
	}
	return o.Class
}

// ChargedKey returns the encoded shard key value for which the command was charged, as KeyPattern.AppendLogical encodes
// it; nil if there is none, or several. It is valid until the op runs another statement.
func (o *Op) ChargedKey() []byte {
	if o.key.several {
		return nil
	}
	return o.key.bytes
}

// begin clears the op's meter and touched shard key values before a statement on a collection, makes the environment
// count on that meter, and lowers the op's cap to the defaults of the collection.
func (c *Cluster) begin(o *Op, coll *catalog.Collection) {
	c.Budgets.LowerCap(o.Cap, uint64(coll.ID), o.Class, o.AppName)
	o.meter.Reset(uint64(coll.ID), nil)
	o.touches.reset()
	o.reach = reach{}
	o.meter.SetStrong(o.Strong)
	o.meter.SetCap(o.Cap)
	o.Receipt.SetStrong(o.Strong)
	if o.Env.Meter = &o.meter; o.Unmetered {
		o.Env.Meter = nil
	}
}

// WaitDurable waits until all that the statements of an op have written and read is durable, if one has committed and
// the write concern requires it: one wait serves all statements. It is called before the client gets their results,
// even if the command failed. An error of the context undoes nothing: the writes may or may not be durable.
func (c *Cluster) WaitDurable(ctx context.Context, o *Op) error {
	if !o.needsSync || o.Durability != storage.Synced {
		return nil
	}
	o.needsSync = false
	return c.Sync(ctx)
}
