package storage

import "context"

type guardKey struct{}

// WithGuard returns a context with a guard, for a background job that another server may take over: guard fails once
// this server has lost the job. Code that begins a transaction of the job calls Guard after it has begun, and gives up
// if it fails; if the job is lost later, the store refuses the commit.
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
