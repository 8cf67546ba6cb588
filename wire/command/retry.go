package command

import (
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
)

// Retryable writes. Each statement of a write command has a number: stmtId and the numbers that follow, or the
// numbers in stmtIds. If a statement has been executed before, its result comes from the session's retryable write
// record, and it is not executed again.
// Spec: retryable-writes. Manual: core/retryable-writes.

// Retryable reports whether the command is a retryable write.
func (c *Call) Retryable() bool { return c.Session != nil && c.Args.Retryable() }

// StoredResult returns the recorded result of the i-th statement of a retryable write, if the statement has been
// executed before. It then also notes the statement's number, for retriedStmtIds in the reply.
func (c *Call) StoredResult(i int) (bson.Raw, bool, error) {
	if !c.Retryable() {
		return nil, false, nil
	}
	stmt := c.Args.Statement(i)
	r, ok, err := c.Session.Replay(stmt)
	if ok && err == nil {
		c.results.retried = append(c.results.retried, stmt)
	}
	return r, ok, err
}

// Remaining returns the indexes of the statements of a retryable write that have not been executed before; nil for
// all of them, and for a command that is no retryable write. done counts the statements that have been executed.
func (c *Call) Remaining(docs []bson.Raw) (todo []int, done int, err error) {
	if !c.Retryable() {
		return nil, 0, nil
	}
	for i := range docs {
		_, ok, err := c.StoredResult(i)
		if err != nil {
			return nil, 0, err
		}
		if ok {
			done++
		} else {
			todo = append(todo, i)
		}
	}
	if done == 0 {
		return nil, 0, nil
	}
	if todo == nil {
		todo = []int{}
	}
	return todo, done, nil
}

// Pick returns the documents at the listed indexes; nil selects all.
func Pick(docs []bson.Raw, todo []int) []bson.Raw {
	if todo == nil {
		return docs
	}
	out := make([]bson.Raw, len(todo))
	for i, at := range todo {
		out[i] = docs[at]
	}
	return out
}

// Renumber converts the indexes of errors, which count only the unfinished statements todo, to indexes in the whole
// command. A nil todo changes nothing.
func Renumber(errs []mongoerr.WriteError, todo []int) {
	if todo == nil {
		return
	}
	for i := range errs {
		errs[i].Index = int32(todo[errs[i].Index])
	}
}

// Recorder returns the function that stores the result of executed statements in the session's retryable write
// record, in the same commit as their effect; nil if the command is no retryable write. A call of it stores one
// result for the statements with the indexes first to last in todo.
func (c *Call) Recorder(todo []int, result func(*cluster.Modified) bson.Raw) func(txn storage.Txn, first, last int, m *cluster.Modified) error {
	if !c.Retryable() {
		return nil
	}
	c.setStmtIDs(todo)
	return func(txn storage.Txn, first, last int, m *cluster.Modified) error {
		if txn != nil {
			if err := c.Server.FailPoints.Fail(c, FailWrite); err != nil {
				return err
			}
		}
		r := result(m)
		if c.Op.StmtIDs == nil {
			return c.recordResult(txn, c.Op.Statement(first), c.Op.Statement(last), r)
		}
		for i := first; i <= last; i++ {
			if err := c.recordResult(txn, c.Op.Statement(i), c.Op.Statement(i), r); err != nil {
				return err
			}
		}
		return nil
	}
}

// setStmtIDs sets the statement numbers in the operation that the cluster runs: those of the statements todo, or of
// all if todo is nil.
func (c *Call) setStmtIDs(todo []int) {
	c.Op.StmtID, c.Op.StmtIDs = c.Args.StmtID, c.Args.StmtIDs
	switch {
	case len(todo) == 1:
		c.Op.StmtID, c.Op.StmtIDs = c.Args.Statement(todo[0]), nil
	case todo != nil:
		c.Op.StmtIDs = make([]int32, len(todo))
		for i, at := range todo {
			c.Op.StmtIDs[i] = c.Args.Statement(at)
		}
	}
}

// recordResult stores one result for the statements with the numbers first to last, for the session, in their store
// transaction if there is one, and for rememberResults.
func (c *Call) recordResult(txn storage.Txn, first, last int32, r bson.Raw) error {
	k := recordedResult{first, last, r, txn}
	if txn != nil {
		c.Op.Forget = c.forgetResults
		if err := c.Session.SaveResult(c.Ctx, txn, k.first, k.last, r); err != nil {
			return err
		}
	}
	k.result = r.Clone()
	c.results.recorded = append(c.results.recorded, k)
	return nil
}

// forgetResults drops the recorded results of a store transaction that did not commit: when its statements run again,
// some may not be reached.
func (c *Call) forgetResults(txn storage.Txn) {
	c.results.recorded = slices.DeleteFunc(c.results.recorded, func(k recordedResult) bool { return k.txn == txn })
}

// statementResults collects what the session has to be given about the statements of a retryable write or of a
// transaction.
type statementResults struct {
	recorded []recordedResult      // what the session will remember when the command ends
	retried  []int32               // answered from the session's record
	failed   []int32               // numbers of statements whose results in recorded are ignored
	refused  ratelimit.LimitCounts // statements that failed for lack of request units
}

// recordedResult is one result that a range of statements have in common. The session remembers it after the command
// has succeeded.
type recordedResult struct {
	first, last int32
	result      bson.Raw
	txn         storage.Txn // the transaction in which they ran; nil if they needed none
}

// StatementFailed records that the i-th statement had no effect, even if a result of this statement has already been
// recorded. In a multi-document transaction, leaveSession then aborts the transaction.
// Manual: core/transactions-in-applications (errors abort the transaction).
func (c *Call) StatementFailed(i int32, e *mongoerr.Error) {
	if e != nil {
		c.reportUnforeseen(e, e)
		c.countRefused(e)
	}
	c.results.failed = append(c.results.failed, c.Args.Statement(int(i)))
}

// CountRefused counts the statements, documents of an insert, that failed for lack of request units.
func (c *Call) CountRefused(errs []mongoerr.WriteError) {
	for i := range errs {
		c.countRefused(errs[i].Err)
	}
}

func (c *Call) countRefused(e *mongoerr.Error) {
	if e.Code == ratelimit.CodeThrottled {
		c.results.refused.Count(limitOf(e))
	}
}

// limitOf returns the limit that refused a statement; InjectedLimit for an error that a fail point made.
func limitOf(err error) ratelimit.Limit {
	var t *ratelimit.Throttled
	if errors.As(err, &t) {
		return t.Limit
	}
	return ratelimit.InjectedLimit
}

// rememberResults passes the recorded results to the session, which answers retries from them. Results of statements
// that failed in the end are left out.
func (c *Call) rememberResults() {
	slices.Sort(c.results.failed)
	for _, k := range c.results.recorded {
		for stmt := k.first; stmt <= k.last; stmt++ {
			if _, failed := slices.BinarySearch(c.results.failed, stmt); !failed {
				c.Session.Remember(stmt, k.result)
			}
		}
	}
	c.results.recorded = nil
}

// AppendRetried appends to the reply the numbers of the statements whose results came from the retryable write
// record.
// Manual: core/retryable-writes. Observed: mongod 7.0 (retriedStmtIds).
func (c *Call) AppendRetried() {
	if len(c.results.retried) == 0 {
		return
	}
	c.Reply.BeginArray("retriedStmtIds")
	for _, stmt := range c.results.retried {
		c.Reply.Int32("", stmt)
	}
	c.Reply.End()
}
