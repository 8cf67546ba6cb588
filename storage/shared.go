package storage

import "context"

// Shared is a Store that several servers, its members, use at the same time. Each member has a
// lease, which ends at a timestamp of the store: without a lease a member neither reads nor
// writes. The message of a member is stored with its lease, and the other members can read it.
type Shared interface {
	Store

	// Member returns the ID of this process among the members; it is never reused.
	Member() MemberID

	// Publish replaces the message of this member, and renews its lease.
	Publish(ctx context.Context, message []byte) error

	// SetDescription sets a function that returns a description of this member for other members
	// and for operators. It is called at each renewal of the lease.
	SetDescription(func() []byte)

	// Collect moves the safe point, before which overwritten data are removed for good, once
	// every member has acknowledged that it reads nothing before it. It also removes ranges
	// that were deleted earlier. One member has to call it every minute; concurrent calls are
	// harmless.
	Collect(ctx context.Context) error

	// Members lists the members whose lease had not expired at now, a timestamp that is not
	// before any commit that has ended anywhere. A process that is not listed commits nothing
	// that it began before now. If it comes back, it calls the function set by Rejoin.
	Members(ctx context.Context) (now Timestamp, list []Member, err error)

	// Rejoin sets a function that is called when this process gets a lease after its previous
	// one had expired, before any read or write under the new lease. The function gets a state
	// of the store that is newer than the start of the lease. While it fails, the process
	// neither reads nor writes.
	Rejoin(func(ctx context.Context, r Reader) error)
}

// MemberID identifies a process that uses a store.
type MemberID [16]byte

// Member describes a process that uses a store.
type Member struct {
	ID          MemberID
	Name        string    // name for operators
	LeaseEnd    Timestamp // the end of its lease
	Description []byte    // the result of the function of SetDescription
	Message     []byte    // set by Publish
}

// AsShared returns the store as a Shared, nil if this process uses the store exclusively.
func AsShared(s Store) Shared {
	shared, _ := s.(Shared)
	return shared
}
