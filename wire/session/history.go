package session

import (
	"bytes"
	"context"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
)

// History keeps what sessions did across restarts. Without one, sessions are remembered
// in memory only. Implementations are called for one session at a time.
type History interface {
	// Load returns what is remembered about a session; ok is false if nothing.
	Load(ctx context.Context, id ID) (p Past, ok bool, err error)
	// Save remembers the common result of the statements first to last inside the
	// transaction that has their effect, so that both are durable or neither.
	Save(t storage.Txn, id ID, txnNumber int64, first, last int32, result bson.Raw) error
	// SaveCommit remembers inside t that t is the transaction of that number.
	SaveCommit(t storage.Txn, id ID, txnNumber int64) error
	// Settle makes sure that no transaction which saved the results of these statements, and
	// has not been committed so far, will be: Load then tells what happened.
	Settle(ctx context.Context, id ID, firsts []int32) error
	// SettleCommit is Settle for the transaction of a number. It reports whether that was
	// committed, and a time that is not before its commit.
	SettleCommit(ctx context.Context, id ID, txnNumber int64) (at storage.Timestamp, committed bool, err error)
	// Forget drops sessions that ended.
	Forget(ctx context.Context, ids []ID) error
}

// Past is a session as a History remembers it.
type Past struct {
	TxnNumber int64
	Committed bool // the number was a transaction, and it was committed
	Results   []StatementResult
	Head      uint64 // see Heads
}

// StatementResult is the common result of the statements First to Last of a retryable write.
// The document's shape is the command layer's own business.
type StatementResult struct {
	First, Last int32
	Result      bson.Raw
}

// results are the results of one retryable write, ascending by statement. Equal results of
// neighbours share one entry, so a batch of 100,000 inserts costs one.
type results struct {
	runs  []run
	bytes int
}

// run is the common result of the statements first to last.
type run struct {
	first, last int32
	result      bson.Raw
}

// runBytes is the rough cost of a run beside its result.
const runBytes = 48

// find returns the index of the run that holds stmt, or where one would be inserted.
func (r *results) find(stmt int32) (int, bool) {
	i, _ := slices.BinarySearchFunc(r.runs, stmt, func(x run, s int32) int {
		switch {
		case x.last < s:
			return -1
		case x.first > s:
			return 1
		}
		return 0
	})
	return i, i < len(r.runs) && r.runs[i].first <= stmt
}

// get returns the result of a statement.
func (r *results) get(stmt int32) (bson.Raw, bool) {
	i, ok := r.find(stmt)
	if !ok {
		return nil, false
	}
	return r.runs[i].result, true
}

// add remembers a copy of result; a second result of a statement is ignored.
func (r *results) add(stmt int32, result bson.Raw) {
	i, ok := r.find(stmt)
	if ok {
		return
	}
	if i > 0 && r.runs[i-1].last == stmt-1 && bytes.Equal(r.runs[i-1].result, result) {
		r.runs[i-1].last = stmt
		return
	}
	r.runs = slices.Insert(r.runs, i, run{stmt, stmt, result.Clone()})
	r.bytes += runBytes + len(result)
}
