package storage

import (
	"context"
	"fmt"
)

// ErrLapsed is returned by calls with a context of AtOnce while the lease of this server has
// expired. It is an ErrUnavailable.
var ErrLapsed = fmt.Errorf("%w: the lease of this server is over", ErrUnavailable)

type atOnceKey struct{}

// AtOnce returns a context for a caller that holds a resource which the renewal of the lease needs
// (Shared.Rejoin). While the lease has expired, calls with it return ErrLapsed instead of waiting
// for the renewal, which would be a deadlock.
func AtOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, atOnceKey{}, true)
}

// MayWait reports whether calls with a context may wait for the renewal of the lease.
func MayWait(ctx context.Context) bool { return ctx.Value(atOnceKey{}) == nil }
