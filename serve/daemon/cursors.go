package daemon

import (
	"context"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/cursor"
)

// ownerWait is the timeout for reading from the store which peer has a cursor.
const ownerWait = time.Second

// otherCursors finds the peer that has a cursor; nil if the store cannot have peers.
func (d *Daemon) otherCursors() *cursor.Others {
	shared := storage.AsShared(d.store)
	if shared == nil {
		return nil
	}
	return &cursor.Others{Self: shared.Member(), Owner: func(ofIt func(storage.MemberID) bool) string {
		ctx, cancel := context.WithTimeout(context.Background(), ownerWait)
		defer cancel()
		_, list, err := shared.Members(ctx)
		if err != nil {
			return ""
		}
		for _, m := range list {
			if ofIt(m.ID) {
				return m.Self
			}
		}
		return ""
	}}
}
