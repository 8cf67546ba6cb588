package tikvkv

import (
	"context"
	"errors"
	"fmt"

	tikverr "github.com/tikv/client-go/v2/error"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cantledb/cantle/storage"
)

// unreachable are the client's errors for a PD or a region that cannot be reached or does
// not answer in time.
var unreachable = []error{
	tikverr.ErrTiKVServerTimeout, tikverr.ErrTiKVServerBusy, tikverr.ErrRegionUnavailable,
	tikverr.ErrResolveLockTimeout, tikverr.ErrTiKVStaleCommand, tikverr.ErrTiKVMaxTimestampNotSynced,
	tikverr.ErrRegionDataNotReady, tikverr.ErrRegionNotInitialized, tikverr.ErrTiDBShuttingDown,
	tikverr.ErrRegionRecoveryInProgress, tikverr.ErrRegionFlashbackInProgress, tikverr.ErrBodyMissing,
}

// translate wraps an error of the client in the matching error of package storage, if there
// is one.
func translate(err error) error {
	name := named(err)
	if name == nil {
		return err
	}
	return fmt.Errorf("%w: %w", name, err)
}

// named returns the error of package storage that matches an error of the client, nil if
// there is none.
func named(err error) error {
	var (
		conflict  *tikverr.ErrWriteConflict
		latched   *tikverr.ErrWriteConflictInLatch
		retryable *tikverr.ErrRetryable
		deadlock  *tikverr.ErrDeadlock
		early     *tikverr.ErrGCTooEarly
		large     *tikverr.ErrTxnTooLarge
		entry     *tikverr.ErrEntryTooLarge
		key       *tikverr.ErrKeyTooLarge
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tikverr.ErrResultUndetermined):
		return storage.ErrUndetermined
	case errors.As(err, &conflict), errors.As(err, &latched), errors.As(err, &retryable), errors.As(err, &deadlock):
		return storage.ErrConflict
	case errors.As(err, &early):
		return storage.ErrSnapshotTooOld
	case errors.As(err, &large):
		return storage.ErrTxnTooLarge
	case errors.As(err, &entry), errors.As(err, &key):
		return storage.ErrValueTooLarge
	case errors.Is(err, tikverr.ErrTiKVDiskFull):
		return storage.ErrDiskFull
	case isUnreachable(err):
		return storage.ErrUnavailable
	}
	return nil
}

// isUnreachable reports whether err is temporary: the same request may succeed later or at another server.
func isUnreachable(err error) bool {
	for _, e := range unreachable {
		if errors.Is(err, e) {
			return true
		}
	}
	var oracle *tikverr.ErrPDServerTimeout
	var pd *tikverr.PDError
	if errors.As(err, &oracle) || errors.As(err, &pd) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var rpc interface{ GRPCStatus() *status.Status }
	if errors.As(err, &rpc) {
		switch rpc.GRPCStatus().Code() {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.ResourceExhausted:
			return true
		}
	}
	return false
}

// isAbsent reports whether err is the client's error for a missing key.
func isAbsent(err error) bool { return tikverr.IsErrNotFound(err) }
