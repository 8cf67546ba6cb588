package daemon

import (
	"context"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/cursor"
)

// ownerTimeout is the timeout for reading the list of members from the store, to find the peer that holds a cursor.
const ownerTimeout = time.Second

// cursorPeers finds the peer that has a cursor.
func (d *Daemon) cursorPeers() cursor.Peers {
	members := storage.MembershipOf(d.store)
	return cursor.Peers{Self: members.Member(), Owner: func(ofIt func(storage.MemberID) bool) string {
		ctx, cancel := context.WithTimeout(context.Background(), ownerTimeout)
		defer cancel()
		_, list, err := members.Members(ctx)
		if err != nil {
			return ""
		}
		for _, m := range list {
			if ofIt(m.ID) {
				return m.Name
			}
		}
		return ""
	}}
}
