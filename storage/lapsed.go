package storage

import (
	"context"
	"fmt"
)

// ErrLapsed says that the lease of this process is over, to somebody who may not wait until it
// has another one: see AtOnce. It is an ErrUnavailable.
var ErrLapsed = fmt.Errorf("%w: the lease of this server is over", ErrUnavailable)

type atOnceKey struct{}

// AtOnce is a context for who has what a renewal of the lease needs (Shared.Rejoin): calls with it
// end with ErrLapsed where others wait for the renewal, which would wait for them.
func AtOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, atOnceKey{}, true)
}

// MayWait reports that a context is not of AtOnce.
func MayWait(ctx context.Context) bool { return ctx.Value(atOnceKey{}) == nil }
