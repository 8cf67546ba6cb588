package rooms

import (
	"fmt"
	"testing"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/cursor"
)

// filled returns a connection to a new server that has a collection c of n documents.
func filled(t *testing.T, n int) *client {
	t.Helper()
	c := newWorld(t, nil).dial()
	for i := range n {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d}]}`, i))
	}
	return c
}

// TestExhaust checks that a client that allows exhaust receives all batches of a cursor after one getMore.
func TestExhaust(t *testing.T) {
	c := filled(t, 5)
	id := openCursor(t, c, `{find: "c", batchSize: 2}`)
	getMore := fmt.Sprintf(`{getMore: NumberLong(%d), collection: "c", batchSize: 2}`, id)
	for i, want := range []bool{true, false} {
		r, more, err := c.send(t.Context(), wire.ExhaustAllowed, getMore)
		if err != nil || !r.Get("ok").Truthy() || more != want || (number(at(r, "cursor.id")) != 0) != want {
			t.Errorf("batch %d: %v, %v; more %v, want %v", i, r, err, more, want)
		}
	}
	if _, more, err := c.send(t.Context(), wire.ExhaustAllowed, getMore); err != nil || more {
		t.Errorf("more batches follow an error: %v, %v", more, err)
	}
	id = openCursor(t, c, `{find: "c", batchSize: 2}`)
	if _, more, err := c.send(t.Context(), 0, fmt.Sprintf(`{getMore: NumberLong(%d), collection: "c", batchSize: 2}`, id)); err != nil || more {
		t.Errorf("more batches follow without being asked for: %v, %v", more, err)
	}
}

// TestExhaustGone checks that a cursor is closed if its client disconnects while it receives an exhaust reply, and
// stays open if it waits for the client's next getMore.
func TestExhaustGone(t *testing.T) {
	c := filled(t, 5)
	for _, ended := range []bool{true, false} {
		d := c.w.dial()
		id := openCursor(t, d, `{find: "c", batchSize: 1}`)
		getMore := fmt.Sprintf(`{getMore: NumberLong(%d), collection: "c", batchSize: 1}`, id)
		if _, more, err := d.send(t.Context(), wire.ExhaustAllowed, getMore); err != nil || !more {
			t.Fatal(more, err)
		}
		if !ended {
			d.send(t.Context(), 0, getMore)
		}
		c.w.Server.Disconnect(d)
		if open := c.code(getMore) == 0; open == ended {
			t.Errorf("open %v after the client went away", open)
		}
	}
}

// TestTimeLeft checks that all commands of a cursor together have the maxTimeMS with which the cursor was opened.
func TestTimeLeft(t *testing.T) {
	c := filled(t, 300)
	find := func(options string) (id int64, cur *cursor.Cursor) {
		t.Helper()
		id = openCursor(t, c, `{find: "c", batchSize: 1`+options+`}`)
		cur, err := c.w.Cursors.Checkout(cursor.ID(id), cursor.Access{Namespace: collection.Namespace{DB: "test", Coll: "c"}, TxnNumber: -1})
		if err != nil {
			t.Fatal(err)
		}
		return id, cur
	}
	getMore := func(id int64, size int) int64 {
		return c.code(fmt.Sprintf(`{getMore: NumberLong(%d), collection: "c", batchSize: %d}`, id, size))
	}
	if _, cur := find(""); cur.Options.TimeLeft != 0 {
		t.Errorf("%v are left of no limit", cur.Options.TimeLeft)
	} else {
		cur.Checkin(0, true)
	}
	// The fail point that makes time limits expire has an effect only on cursors with a maxTimeMS.
	for options, want := range map[string]int64{"": 0, ", maxTimeMS: 1000000": 50} {
		id, cur := find(options)
		cur.Checkin(0, true)
		c.ok(`{configureFailPoint: "maxTimeAlwaysTimeOut", mode: "alwaysOn", $db: "admin"}`)
		if got := getMore(id, 1); got != want {
			t.Errorf("when time is up for all, find {%s}: %d, want %d", options, got, want)
		}
		c.ok(`{configureFailPoint: "maxTimeAlwaysTimeOut", mode: "off", $db: "admin"}`)
	}
	id, cur := find(`, maxTimeMS: 1000000`)
	before := cur.Options.TimeLeft
	if before <= 0 || before > 1000*time.Second {
		t.Errorf("%v are left", before)
	}
	cur.Checkin(0, true)
	if got := getMore(id, 1); got != 0 {
		t.Errorf("with time left: %d", got)
	}
	cur, err := c.w.Cursors.Checkout(cursor.ID(id), cursor.Access{Namespace: collection.Namespace{DB: "test", Coll: "c"}, TxnNumber: -1})
	if err != nil {
		t.Fatal(err)
	}
	if cur.Options.TimeLeft > before {
		t.Errorf("%v are left, before %v", cur.Options.TimeLeft, before)
	}
	cur.Options.TimeLeft = 1
	cur.Checkin(0, true)
	if got := getMore(id, 1000); got != 50 {
		t.Errorf("without time left: %d, want 50", got)
	}
}
