package storage

import (
	"context"
	"fmt"
)

// ErrLeaseExpired is the error of calls to the store with a context of NoLeaseWait, while this server's lease has
// expired. It matches ErrUnavailable.
var ErrLeaseExpired = fmt.Errorf("%w: the lease of this server is over", ErrUnavailable)

type noLeaseWaitKey struct{}

// NoLeaseWait returns a context for a caller that holds something which the renewal of the lease needs
// (Shared.Rejoin), such as a mutex. While the lease has expired, calls of the store with this context return
// ErrLeaseExpired instead of waiting for the renewal, which would be a deadlock.
func NoLeaseWait(ctx context.Context) context.Context {
	return context.WithValue(ctx, noLeaseWaitKey{}, true)
}

// MayWaitForLease reports whether calls of the store with a context may wait for the renewal of an expired lease:
// all but those of NoLeaseWait.
func MayWaitForLease(ctx context.Context) bool { return ctx.Value(noLeaseWaitKey{}) == nil }
