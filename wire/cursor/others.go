package cursor

import "github.com/cantledb/cantle/storage"

// Others are the other servers over the same store: a cursor is at the server that opened it, and an
// id that is asked of another one is to say where.
type Others struct {
	Self storage.MemberID
	// Owner is what the member is called whose mark is that of an id; "" if it has gone.
	Owner func(ofIt func(storage.MemberID) bool) string
}

// markBits of an id, those above the others, are a mark of the server that made it. The rest is
// still more than anybody guesses.
const (
	markBits = 16
	restBits = 63 - markBits
)

// mark is that of a member. Members have random names, so that hardly two have the same mark; who
// has one then is only told wrongly.
func mark(m storage.MemberID) ID { return ID(m[0])<<8 | ID(m[1]) }

// stamp gives an id the mark of this server.
func (o *Others) stamp(id ID) ID {
	if o == nil {
		return id
	}
	return mark(o.Self)<<restBits | id&(1<<restBits-1)
}

// owner says who else has made an id; "" for this server, or if that is not known.
func (o *Others) owner(id ID) string {
	if o == nil || id>>restBits == mark(o.Self) {
		return ""
	}
	return o.Owner(func(m storage.MemberID) bool { return mark(m) == id>>restBits })
}
