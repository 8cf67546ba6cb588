package cursor

import "github.com/cantledb/cantle/storage"

// Peers identifies the peers over the same store. A cursor lives at the server that opened it, so
// an error about an unknown cursor names the peer that has it. The zero value belongs to a server that has the
// store exclusively.
type Peers struct {
	Self storage.MemberID
	// Owner returns the name of the first member for which ofIt reports true; "" if that member has
	// left.
	Owner func(ofIt func(storage.MemberID) bool) string
}

// markBits is the number of the upper bits of an id that hold a mark of the server that made it. The
// other bits are random, and still too many to guess.
const (
	markBits = 16
	restBits = 63 - markBits
)

// mark returns the mark of a member. Members have random IDs, so two rarely share a mark; if they
// do, an error names the wrong peer.
func mark(m storage.MemberID) ID { return ID(m[0])<<8 | ID(m[1]) }

// exclusive reports whether there are no peers whose ids could be mistaken for those of this server.
func (o *Peers) exclusive() bool { return o.Self == (storage.MemberID{}) }

// stamp puts the mark of this server into an id.
func (o *Peers) stamp(id ID) ID {
	if o.exclusive() {
		return id // of which more is random
	}
	return mark(o.Self)<<restBits | id&(1<<restBits-1)
}

// owner returns the name of the peer that made an id; "" for this server and for an unknown one.
func (o *Peers) owner(id ID) string {
	if o.exclusive() || id>>restBits == mark(o.Self) {
		return ""
	}
	return o.Owner(func(m storage.MemberID) bool { return mark(m) == id>>restBits })
}
