package storage

import "context"

type guardKey struct{}

// WithGuard is a context whose transactions are to be committed only while guard says so: work
// that another process may have taken over. Who makes transactions of such work asks Guard once a
// transaction has begun.
func WithGuard(ctx context.Context, guard func() error) context.Context {
	return context.WithValue(ctx, guardKey{}, guard)
}

// Guard is what the guard of a context says, nil if it has none.
func Guard(ctx context.Context) error {
	if guard, ok := ctx.Value(guardKey{}).(func() error); ok {
		return guard()
	}
	return nil
}
