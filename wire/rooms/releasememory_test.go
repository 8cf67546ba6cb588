package rooms

import (
	"fmt"
	"testing"
)

// TestReleaseMemory checks that releaseMemory keeps the cursor open, and which users may send it: the privilege on the
// cursor's collection, its database or the cluster is required, also for an own cursor.
func TestReleaseMemory(t *testing.T) {
	w, root, reader := secured(t)
	id := openCursor(t, reader, `{find: "c", sort: {_id: 1}, batchSize: 1}`)
	release := fmt.Sprintf(`{releaseMemory: [{$numberLong: "%d"}, {$numberLong: "5"}]}`, id)
	for _, c := range []*client{root, reader} {
		if got := c.code(release); got != 13 {
			t.Errorf("without the privilege: %d", got)
		}
	}
	for _, resource := range []string{`db: "test", collection: "c"`, `db: "test", collection: ""`, `cluster: true`} {
		root.ok(`{createRole: "releases", roles: [], $db: "admin", privileges: [{resource: {` + resource + `}, actions: ["releaseMemoryAnyCursor"]}]}`)
		root.ok(`{grantRolesToUser: "reader", roles: [{role: "releases", db: "admin"}]}`)
		reply := reader.ok(release)
		for field, want := range map[string]string{"cursorsReleased": fmt.Sprintf("[ %d ]", id), "cursorsNotFound": "[ 5 ]", "cursorsCurrentlyPinned": "[]", "cursorsWithErrors": "[]"} {
			if got := at(reply, field).String(); got != want {
				t.Errorf("%s: %s is %s", resource, field, got)
			}
		}
		root.ok(`{dropRole: "releases", $db: "admin"}`)
	}
	root.ok(`{createRole: "other", roles: [], $db: "admin", privileges: [{resource: {db: "test", collection: "d"}, actions: ["releaseMemoryAnyCursor"]}]}`)
	root.ok(`{grantRolesToUser: "reader", roles: [{role: "other", db: "admin"}]}`)
	if got := reader.code(release); got != 13 {
		t.Errorf("with the privilege on another collection: %d", got)
	}
	if rest := at(reader.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, id)), "cursor.nextBatch").String(); rest != "[ { _id: 1 }, { _id: 2 }, { _id: 3 }, { _id: 4 } ]" {
		t.Error(rest)
	}
	if n := w.Cursors.Stats().Parked; n != 1 {
		t.Errorf("%d cursors were parked", n)
	}
}
