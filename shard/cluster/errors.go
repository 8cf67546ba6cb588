package cluster

import (
	"context"
	"errors"
	"strconv"
	"syscall"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// ErrKilled and ErrTimeLimit are the causes with which the layers above end a command's context
// (context.WithCancelCause): a killed operation, and the end of its time limit.
var (
	ErrKilled    = errors.New("operation was interrupted")
	ErrTimeLimit = errors.New("operation exceeded time limit")
)

// Translate turns errors of storage, budgets and contexts, which the methods of Cluster return unchanged, into errors
// for clients. wire/command calls it where it answers; rooms call it earlier where they need the code of the error,
// or add labels or fields. nil passes unchanged, a client error without the errors that wrap it.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	var known *mongoerr.Error
	if errors.As(err, &known) {
		return known
	}
	var throttled *ratelimit.Throttled
	var reached *ratelimit.CapReached
	var bad *ratelimit.InvalidThroughput
	switch {
	case errors.As(err, &throttled):
		return Refused(throttled)
	case errors.As(err, &reached):
		return mongoerr.New(mongoerr.RequestUnitsExceeded, "operation exceeded its limit of request units: it used %s RU, and the limit of the %s is %s", reached.Used(), reached.Origin(), reached.Limit()).Because(reached)
	case errors.As(err, &bad):
		return mongoerr.New(mongoerr.BadValue, "%s", bad.Error())
	case errors.Is(err, ratelimit.ErrRetryTimeout):
		return mongoerr.New(mongoerr.MaxTimeMSExpired, "Request timed out: it waited %d seconds for request units", ratelimit.RetrySecondsMax)
	case errors.Is(err, storage.ErrConflict):
		return mongoerr.New(mongoerr.WriteConflict, "Write conflict: another operation changed the same document; retry the operation").Because(err)
	case errors.Is(err, storage.ErrSnapshotTooOld):
		return mongoerr.New(mongoerr.SnapshotTooOld, "The state at the wanted time is no longer kept: minSnapshotHistoryWindowInSeconds says how long it is, as far as the change log reaches back; read at a later time").Because(err)
	case errors.Is(err, storage.ErrTxnTooLarge):
		return mongoerr.New(mongoerr.TransactionTooLarge, "The writes of one transaction exceed the limit").Because(err)
	case errors.Is(err, storage.ErrMemoryFull):
		return mongoerr.New(mongoerr.ExceededMemoryLimit, "The writes of open transactions, all or this user's, take up the memory they may (--work-memory); try again when others have ended").Because(err)
	case errors.Is(err, storage.ErrValueTooLarge), errors.Is(err, bson.ErrTooLarge):
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "Document or index key is too large").Because(err)
	case errors.Is(err, bson.ErrTooDeep):
		return mongoerr.New(mongoerr.Overflow, "Document is nested too deeply").Because(err)
	case errors.Is(err, bson.ErrInvalid):
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err.Error())
	case errors.Is(err, storage.ErrFollower):
		return mongoerr.New(mongoerr.NotWritablePrimary, "not primary").Because(err)
	case errors.Is(err, storage.ErrNotWritable):
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot execute a write operation in read-only mode: the stored data are damaged, as the log of the server says, or it was started with --serve-damaged. Look at the damage with \"cantle check\", save what is left with \"cantle salvage\" and restore that, or a backup, into an empty folder").Because(err)
	case errors.Is(err, storage.ErrCorruption):
		return mongoerr.New(mongoerr.DataCorruptionDetected, "The data that this needs are damaged: %s. Other data can be read; see \"cantle check\" and \"cantle salvage\"", damageOf(err)).Because(err)
	case storage.IsDiskFull(err):
		return mongoerr.New(mongoerr.OutOfDiskSpace, "The disk is almost full, and writes that add are refused until there is room: drop or delete what is not needed, or make room on the disk").Because(err)
	case errors.Is(err, storage.ErrDiskFails):
		return mongoerr.New(mongoerr.FileStreamFailed, "The disk failed while the data were read or written: %s. Try again; if it stays so, look at the disk and its system's messages: the files can be checked with \"cantle check\" when the server is stopped", reasonOf(err)).Because(err)
	case errors.Is(err, storage.ErrUnavailable):
		return mongoerr.New(mongoerr.NetworkTimeout, "The cluster that keeps the data cannot be reached; nothing was done, try again").Because(err)
	case errors.Is(err, storage.ErrUndetermined):
		return mongoerr.New(mongoerr.NetworkTimeout, "The store did not answer whether the write was committed: it may have happened or not. A retryable write may be sent again and happens once; otherwise look before you write again").Because(err)
	case errors.Is(err, storage.ErrClosed):
		return mongoerr.New(mongoerr.ShutdownInProgress, "The server is shutting down").Because(err)
	case errors.Is(err, ErrTimeLimit), errors.Is(err, context.DeadlineExceeded):
		return mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
	case errors.Is(err, ErrKilled), errors.Is(err, context.Canceled):
		return mongoerr.New(mongoerr.Interrupted, "operation was interrupted")
	}
	return mongoerr.From(err)
}

// Refused returns the error of a throttled command: Cosmos DB's code and text, with
// the back-pressure labels on which current drivers retry.
// Spec: client-backpressure.
func Refused(t *ratelimit.Throttled) *mongoerr.Error {
	b := bson.NewBuilder(nil)
	b.Int64("baseBackoffMS", t.RetryAfterMs())
	b.Int64("retryAfterMs", t.RetryAfterMs())
	b.String("partition", strconv.Itoa(t.Shard))
	return mongoerr.New(ratelimit.CodeThrottled, "%s", t.Message()).
		With(mongoerr.SystemOverloadedError | mongoerr.RetryableError).WithFields(b.Doc().Elements()).Because(t)
}

// reasonOf returns the operating system's message for an error of the disk, without paths and the text of wrapping
// errors; "an unknown error" if it has none.
func reasonOf(err error) string {
	var cause syscall.Errno
	if errors.As(err, &cause) {
		return cause.Error()
	}
	return "an unknown error"
}

// damageOf describes the damage that err reports, with the damaged file, without the text of wrapping errors; for an
// error that is no DamagedError it returns a general text.
func damageOf(err error) string {
	var d *storage.DamagedError
	if errors.As(err, &d) {
		return d.Error()
	}
	return "a stored value makes no sense"
}
