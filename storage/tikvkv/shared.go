package tikvkv

import (
	"context"

	"github.com/cantledb/cantle/storage"
)

// sharedStore is a store that several servers use at the same time; it implements storage.Shared.
type sharedStore struct{ *store }

// Member implements storage.Shared.
func (s *sharedStore) Member() storage.MemberID { return s.lease.id }

// Publish implements storage.Shared.
func (s *sharedStore) Publish(ctx context.Context, message []byte) error {
	return s.membership.publish(ctx, message)
}

// SetDescription implements storage.Shared.
func (s *sharedStore) SetDescription(describe func() []byte) { s.membership.setDescription(describe) }

// Rejoin implements storage.Shared.
func (s *sharedStore) Rejoin(f func(context.Context, storage.Reader) error) {
	s.membership.setRejoin(f)
}

// Members implements storage.Shared.
func (s *sharedStore) Members(ctx context.Context) (storage.Timestamp, []storage.Member, error) {
	return s.membership.members(ctx)
}

// Collect implements storage.Shared.
func (s *sharedStore) Collect(ctx context.Context) error { return s.safePoints.collectShared(ctx) }
