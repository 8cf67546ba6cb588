package session

import (
	"bytes"
	"context"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
)

// History stores the results of retryable writes and the outcomes of transactions across restarts. Without a History
// they are only in memory. For one session, its methods other than Forget are called by one goroutine at a time.
type History interface {
	// Load returns the stored state of a session; ok is false if nothing is stored.
	Load(ctx context.Context, id ID) (p StoredState, ok bool, err error)
	// Save stores the common result of the statements first to last inside t, the transaction in which they ran. So
	// effect and result are both durable, or neither is.
	Save(t storage.Txn, id ID, txnNumber int64, first, last int32, result bson.Raw) error
	// SaveCommit stores inside t that t is the transaction txnNumber.
	SaveCommit(t storage.Txn, id ID, txnNumber int64) error
	// MakeFinal makes the outcome of an undetermined retryable write final: a transaction that saved results of these
	// statements, and is not committed yet, can no longer be committed. Afterwards Load returns the final outcome.
	MakeFinal(ctx context.Context, id ID, firsts []int32) error
	// MakeCommitFinal makes the outcome of the transaction txnNumber final: if it is not committed yet, it can no
	// longer be committed. It reports whether the transaction was committed; at is a timestamp that is not before the
	// commit.
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

// StatementResult is a result that the statements First to Last of a retryable write have in common. The command
// layer defines the fields of the document.
type StatementResult struct {
	First, Last int32
	Result      bson.Raw
}

// results holds the results of one retryable write, ascending by statement. Consecutive statements with equal
// results share one range, so a batch of 100,000 inserts costs one range.
type results struct {
	ranges []resultRange
	bytes  int
}

// resultRange is the result that the statements first to last have in common.
type resultRange struct {
	first, last int32
	result      bson.Raw
}

// rangeBytes is about the memory in bytes of a resultRange without its result.
const rangeBytes = 48

// find returns the index of the range that contains stmt and true; otherwise the index at which to insert one, and
// false.
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

// add stores a copy of the result of a statement. If the statement already has a result, the new one is ignored.
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
