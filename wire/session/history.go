package session

import (
	"bytes"
	"context"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
)

// History stores the results of sessions across restarts. Without a History, they are in
// memory only. Implementations are called for one session at a time.
type History interface {
	// Load returns what is stored of a session; ok is false if there is nothing.
	Load(ctx context.Context, id ID) (p StoredState, ok bool, err error)
	// Save stores the common result of the statements first to last inside the transaction t
	// that has their effect, so that both are durable or neither is.
	Save(t storage.Txn, id ID, txnNumber int64, first, last int32, result bson.Raw) error
	// SaveCommit stores inside t that t is the transaction txnNumber.
	SaveCommit(t storage.Txn, id ID, txnNumber int64) error
	// MakeFinal makes sure that no transaction that saved results of these statements, and has not
	// been committed so far, can be committed later: afterwards Load returns the final outcome.
	MakeFinal(ctx context.Context, id ID, firsts []int32) error
	// MakeCommitFinal is MakeFinal for the transaction txnNumber. It reports whether that transaction
	// was committed, and a timestamp that is not before its commit.
	MakeCommitFinal(ctx context.Context, id ID, txnNumber int64) (at storage.Timestamp, committed bool, err error)
	// Forget removes sessions that ended.
	Forget(ctx context.Context, ids []ID) error
}

// StoredState is the stored state of a session.
type StoredState struct {
	TxnNumber int64
	Committed bool // the number belongs to a transaction, and it was committed
	Results   []StatementResult
	Head      uint64 // see Heads
}

// StatementResult is the common result of the statements First to Last of a retryable write.
// The command layer defines the shape of the document.
type StatementResult struct {
	First, Last int32
	Result      bson.Raw
}

// results are the results of one retryable write, ascending by statement. Equal results of
// neighbours share one run, so a batch of 100,000 inserts costs one run.
type results struct {
	ranges []resultRange
	bytes  int
}

// resultRange is the common result of the statements first to last.
type resultRange struct {
	first, last int32
	result      bson.Raw
}

// rangeBytes is about the memory of a run without its result.
const rangeBytes = 48

// find returns the index of the run that holds stmt, or the index at which to insert it.
func (r *results) find(stmt int32) (int, bool) {
	i, _ := slices.BinarySearchFunc(r.ranges, stmt, func(x resultRange, s int32) int {
		switch {
		case x.last < s:
			return -1
		case x.first > s:
			return 1
		}
		return 0
	})
	return i, i < len(r.ranges) && r.ranges[i].first <= stmt
}

// get returns the result of a statement.
func (r *results) get(stmt int32) (bson.Raw, bool) {
	i, ok := r.find(stmt)
	if !ok {
		return nil, false
	}
	return r.ranges[i].result, true
}

// add stores a copy of result; a second result of a statement is ignored.
func (r *results) add(stmt int32, result bson.Raw) {
	i, ok := r.find(stmt)
	if ok {
		return
	}
	if i > 0 && r.ranges[i-1].last == stmt-1 && bytes.Equal(r.ranges[i-1].result, result) {
		r.ranges[i-1].last = stmt
		return
	}
	r.ranges = slices.Insert(r.ranges, i, resultRange{stmt, stmt, result.Clone()})
	r.bytes += rangeBytes + len(result)
}
