package rooms

import (
	"testing"

	"github.com/cantledb/cantle/collection/release"
)

// TestChangeStreamMetrics checks the counters of change streams in serverStatus: all of them at 9.0, and only the one
// that earlier releases have before.
func TestChangeStreamMetrics(t *testing.T) {
	w := newWorld(t, nil)
	w.Release = release.V9_0
	c := w.dial()
	c.ok(`{create: "c"}`)
	opened := c.ok(`{aggregate: "c", pipeline: [{$changeStream: {fullDocument: "updateLookup", showExpandedEvents: true, showSystemEvents: false}}], cursor: {}}`)
	c.ok(`{aggregate: 1, pipeline: [{$changeStream: {resumeAfter: ` + at(opened, "cursor.postBatchResumeToken").String() + `}}], cursor: {}}`)
	c.ok(`{aggregate: 1, pipeline: [{$changeStream: {allChangesForCluster: true}}], cursor: {}, $db: "admin"}`)
	c.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}]}`)
	c.ok(`{getMore: ` + at(opened, "cursor.id").String() + `, collection: "c"}`)
	status := c.ok(`{serverStatus: 1}`)
	for path, want := range map[string]int64{
		"scope.collection": 1, "scope.db": 1, "scope.cluster": 1, "option.fullDocument.updateLookup": 1, "option.showExpandedEvents": 1,
		"option.showSystemEvents": 0, "option.resumeAfter": 1, "cursor.docsReturned": 2, "cursor.batchesReturned": 4, "error.nonRetriable.other": 0,
	} {
		v := at(status, "metrics.changeStreams."+path)
		if v.IsMissing() || number(v) != want {
			t.Errorf("%s is %v, want %d", path, v, want)
		}
	}
	if n := number(at(status, "metrics.changeStreams.cursor.bytesReturned")); n < 100 {
		t.Errorf("%d bytes were returned", n)
	}
	w.Release = release.V8_3
	if status = w.dial().ok(`{serverStatus: 1}`); number(at(status, "metrics.changeStreams.showExpandedEvents")) != 1 || !at(status, "metrics.changeStreams.scope").IsMissing() {
		t.Errorf("at 8.3: %v", at(status, "metrics.changeStreams"))
	}
}

// TestQueryMemoryMetrics checks that serverStatus has the largest memory of a command, and the number of commands that a
// memory limit has ended.
func TestQueryMemoryMetrics(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{insert: "c", documents: [{_id: 1, s: "a"}, {_id: 2, s: "b"}]}`)
	refused := func() int64 {
		return number(at(c.ok(`{serverStatus: 1}`), "metrics.query.operationsFailedDueToMemoryLimit"))
	}
	if n := refused(); n != 0 {
		t.Fatalf("%d commands before", n)
	}
	c.ok(`{find: "c", sort: {s: 1}}`)
	if n := number(at(c.ok(`{serverStatus: 1}`), "metrics.query.peakMemoryUsageOperation")); n <= 0 {
		t.Errorf("the peak is %d", n)
	}
	c.ok(`{setParameter: 1, internalQueryMaxBlockingSortMemoryUsageBytes: 10, $db: "admin"}`)
	c.code(`{find: "c", sort: {s: 1}, allowDiskUse: false}`)
	if n := refused(); n != 1 {
		t.Errorf("%d commands were ended by a memory limit, want 1", n)
	}
}
