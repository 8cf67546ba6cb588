package rooms

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSnapshotWindow checks that the time in the reply to a snapshot read stays readable for the number of seconds
// that minSnapshotHistoryWindowInSeconds sets.
func TestSnapshotWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t, nil).dial()
		c.ok(`{insert: "c", documents: [{_id: 1}]}`)
		read := `{find: "c", readConcern: {level: "snapshot"}}`
		told := at(c.ok(read), "cursor.atClusterTime")
		c.ok(`{insert: "c", documents: [{_id: 2}]}`)
		again := strings.Replace(read, `"snapshot"`, `"snapshot", atClusterTime: `+told.String(), 1)
		if r := c.ok(again); !at(r, "cursor.firstBatch.1").IsMissing() {
			t.Errorf("at the time that was told: %v", r)
		}
		if r := c.ok(`{setParameter: 1, minSnapshotHistoryWindowInSeconds: 0, $db: "admin"}`); number(r.Get("was")) != 300 {
			t.Errorf("the window was %v", r)
		}
		time.Sleep(time.Second)
		if got := c.code(again); got != 239 {
			t.Errorf("without a window: %d", got)
		}
		c.ok(`{setParameter: 1, minSnapshotHistoryWindowInSeconds: 60, $db: "admin"}`)
		told = at(c.ok(read), "cursor.atClusterTime")
		c.ok(`{insert: "c", documents: [{_id: 3}]}`)
		again = strings.Replace(read, `"snapshot"`, `"snapshot", atClusterTime: `+told.String(), 1)
		time.Sleep(59 * time.Second)
		if r := c.ok(again); !at(r, "cursor.firstBatch.2").IsMissing() {
			t.Errorf("in a window of a minute: %v", r)
		}
		time.Sleep(2 * time.Second)
		if got := c.code(again); got != 239 {
			t.Errorf("after a window of a minute: %d", got)
		}
	})
}
