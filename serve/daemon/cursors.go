package daemon

import (
	"context"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/cursor"
)

// ownerWait is how long the store is asked whose cursor it is that a client wants to go on with.
const ownerWait = time.Second

// otherCursors are the servers that have cursors which this one does not; nil if it is alone.
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
