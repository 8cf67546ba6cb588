package storage

import "context"

type guardKey struct{}

// WithGuard returns a context with a guard for a job that another server may take over:
// transactions of the job are to be committed only while guard returns nil. Code that makes such
// transactions calls Guard after each has begun.
func WithGuard(ctx context.Context, guard func() error) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

// Guard returns the result of the guard of a context, nil if it has none.
func Guard(ctx context.Context) error {
	if guard, ok := ctx.Value(guardKey{}).(func() error); ok {
		return guard()
	}
	return nil
}
