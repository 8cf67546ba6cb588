package storage

import "context"

// Shared is a Store that several processes, its members, use at the same time. Each of them
// has a lease, which ends at a time of the store's: without it a member neither reads nor
// writes. What a member tells stands beside its lease, for the others to read.
type Shared interface {
	Store

	// Member is the name of this process among the members; it never had another one.
	Member() MemberID

	// Tell replaces what this member tells the others, and renews its lease.
	// Errors: ErrUnavailable, ErrClosed, ctx.Err().
	Tell(ctx context.Context, message []byte) error

	// Introduce sets what says what this member is, for the others and for people: it is asked
	// at each renewal of the lease.
	Introduce(func() []byte)

	// Collect moves the time up to which what was overwritten is removed for good, after every
	// member has said that it reads nothing before it, and removes ranges that were deleted
	// before. One member is to do it, every minute; several do no harm.
	// Errors: ErrUnavailable, ErrClosed, ctx.Err().
	Collect(ctx context.Context) error

	// Members lists the members whose lease was not over at a time now, which is not before
	// any commit that has ended anywhere. A process that is not listed commits nothing more
	// that was begun before now, and if it comes back it calls what Rejoin was given.
	// Errors: ErrUnavailable, ErrClosed, ctx.Err().
	Members(ctx context.Context) (now Timestamp, list []Member, err error)

	// Rejoin sets what is called when the lease of this process was over and it has another
	// one, before anybody reads or writes under that: with a state of the store that is
	// newer than the beginning of the lease. While it fails nobody reads or writes.
	Rejoin(func(ctx context.Context, r Reader) error)
}

// MemberID names a process that uses a store.
type MemberID [16]byte

// Member is a process that uses a store.
type Member struct {
	ID      MemberID
	Self    string    // what it is called for people
	Until   Timestamp // the end of its lease
	About   []byte    // what it is
	Message []byte    // what it tells
}

// AsShared is a store as one that several processes use, nil if this one uses it alone.
func AsShared(s Store) Shared {
	shared, _ := s.(Shared)
	return shared
}
