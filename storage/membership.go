package storage

import "context"

// Membership is the list of the servers that use a store at the same time, its members. Each member has a lease,
// which ends at a timestamp of the store: without a lease it neither reads nor writes. Each has also a message for
// the others, stored with its lease.
type Membership interface {
	// Member returns the ID of this process among the members. No other process ever gets the same ID, except that
	// the only member of an exclusive store always has the ID 0.
	Member() MemberID

	// Publish replaces the message of this member, which other members read by Members, and renews its lease.
	Publish(ctx context.Context, message []byte) error

	// SetDescription sets a function that returns a description of this member, for other members and for
	// operators. The function is called at each renewal of the lease.
	SetDescription(func() []byte)

	// Collect moves the safe point, before which overwritten data are removed for good, once every member has
	// acknowledged that it reads no older state. It also removes ranges that were deleted earlier. One member has
	// to call Collect every minute; concurrent calls are harmless.
	Collect(ctx context.Context) error

	// Members lists the members whose lease has not expired at now, a timestamp that is not before any commit that
	// has ended anywhere. A process that is not listed commits nothing that it began before now. If it gets a
	// lease again, it first calls the function set by Rejoin.
	Members(ctx context.Context) (now Timestamp, list []Member, err error)

	// Rejoin sets a function that is called when this process gets a lease after its previous one had expired,
	// before any read or write under the new lease. Through the Reader the function gets a state of the store that
	// is newer than the start of the lease, to refresh what the process has cached. While the function fails, the
	// process neither reads nor writes.
	Rejoin(func(ctx context.Context, r Reader) error)
}

// Shared is a Store that several servers can use at the same time, as its members.
type Shared interface {
	Store
	Membership
}

// MemberID identifies a process that uses a store, among its members.
type MemberID [16]byte

// Member describes one of the processes that use a store, as the others see it.
type Member struct {
	ID          MemberID
	Name        string    // name for operators
	LeaseEnd    Timestamp // the end of its lease; 0 = the store has no leases
	Description []byte    // the result of the function of SetDescription
	Message     []byte    // set by Publish
}

// Exclusive reports whether this process uses the store exclusively: it is the only member, and no peer can join.
// Most code needs no Exclusive, because a Membership of one behaves correctly. With it, code omits reads that only
// peers make necessary, or does what only a server without peers can do.
func Exclusive(s Store) bool {
	_, shared := s.(Shared)
	return !shared
}

// MembershipOf returns the membership of a store. For an exclusive store that is one member without a lease.
func MembershipOf(s Store) Membership {
	if shared, ok := s.(Shared); ok {
		return shared
	}
	return soleMember{s}
}

// soleMember is the membership of an exclusive store: this process alone. It costs nothing: no row, no goroutine,
// no read.
type soleMember struct{ store Store }

func (soleMember) Member() MemberID                           { return MemberID{} }
func (soleMember) Publish(context.Context, []byte) error      { return nil }
func (soleMember) SetDescription(func() []byte)               {}
func (soleMember) Collect(context.Context) error              { return nil }
func (soleMember) Rejoin(func(context.Context, Reader) error) {}
func (m soleMember) Members(context.Context) (Timestamp, []Member, error) {
	return m.store.Latest(), []Member{{}}, nil
}
