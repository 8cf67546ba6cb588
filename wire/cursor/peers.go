package cursor

import "github.com/cantledb/cantle/storage"

// Peers identifies this server and its peers over the same store by marks in cursor ids. A cursor exists only at the
// server that opened it; if a client sends its getMore to another server, the error names the peer that has the
// cursor. The zero value belongs to a server without peers.
type Peers struct {
	Self storage.MemberID
	// Owner returns the name of the first member for which ofIt returns true; "" if that member has left the cluster.
	Owner func(ofIt func(storage.MemberID) bool) string
}

// markBits is the number of upper bits of a cursor id that contain the mark of the server that made the id. The
// restBits other bits are random, and still too many to guess.
const (
	markBits = 16
	restBits = 63 - markBits
)

// mark returns the mark that a member puts into its cursor ids: two bytes of its own random id. Two members rarely
// have the same mark; if they do, an error names the wrong peer.
func mark(m storage.MemberID) ID { return ID(m[0])<<8 | ID(m[1]) }

// exclusive reports whether this server has no peers, so that all bits of a cursor id can be random.
func (o *Peers) exclusive() bool { return o.Self == (storage.MemberID{}) }

// stamp puts the mark of this server into an id.
func (o *Peers) stamp(id ID) ID {
	if o.exclusive() {
		return id // of which more is random
	}
	return mark(o.Self)<<restBits | id&(1<<restBits-1)
}

// owner returns the name of the peer that made a cursor id; "" if this server made it, or an unknown one, or if there
// are no peers.
func (o *Peers) owner(id ID) string {
	if o.exclusive() || id>>restBits == mark(o.Self) {
		return ""
	}
	return o.Owner(func(m storage.MemberID) bool { return mark(m) == id>>restBits })
}
