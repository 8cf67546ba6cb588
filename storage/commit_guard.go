package storage

import "context"

type guardKey struct{}

// WithGuard returns a context with a guard, for a background job that another server may take over: the job's
// transactions may be committed only while guard returns nil. Code that begins such a transaction calls Guard
// after it has begun.
func WithGuard(ctx context.Context, guard func() error) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

// Guard calls the guard that WithGuard has put into a context, and returns its result; nil if there is none.
func Guard(ctx context.Context) error {
	if guard, ok := ctx.Value(guardKey{}).(func() error); ok {
		return guard()
	}
	return nil
}
