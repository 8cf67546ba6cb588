package storage

import (
	"context"
	"fmt"
)

// ErrLeaseExpired is returned by calls with a context of NoLeaseWait while the lease of this server has
// expired. It is an ErrUnavailable.
var ErrLeaseExpired = fmt.Errorf("%w: the lease of this server is over", ErrUnavailable)

type noLeaseWaitKey struct{}

// NoLeaseWait returns a context for a caller that holds a resource which the renewal of the lease needs
// (Shared.Rejoin). While the lease has expired, calls with it return ErrLeaseExpired instead of waiting
// for the renewal, which would be a deadlock.
func NoLeaseWait(ctx context.Context) context.Context {
	return context.WithValue(ctx, noLeaseWaitKey{}, true)
}

// MayWaitForLease reports whether calls with a context may wait for the renewal of the lease.
func MayWaitForLease(ctx context.Context) bool { return ctx.Value(noLeaseWaitKey{}) == nil }
