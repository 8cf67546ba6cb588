package command

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
)

// changePaths are the counters of change streams, by their paths below metrics.changeStreams of serverStatus, sorted.
// Manual: release-notes/9.0 (Server Status).
var changePaths = [...]string{
	"cursor.batchesReturned",
	"cursor.bytesReturned",
	"cursor.docsReturned",
	"error.nonRetriable.bsonObjectTooLarge",
	"error.nonRetriable.changeStreamFatalError",
	"error.nonRetriable.changeStreamHistoryLost",
	"error.nonRetriable.other",
	"error.retriable.interruptedDueToReplStateChange",
	"error.retriable.other",
	"option.fullDocument.required",
	"option.fullDocument.updateLookup",
	"option.fullDocument.whenAvailable",
	"option.fullDocumentBeforeChange.required",
	"option.fullDocumentBeforeChange.whenAvailable",
	"option.ignoreRemovedShards",
	"option.matchCollectionUUIDForUpdateLookup",
	"option.resumeAfter",
	"option.showExpandedEvents",
	"option.showMigrationEvents",
	"option.showRawUpdateDescription",
	"option.showSystemEvents",
	"option.startAfter",
	"option.startAtOperationTime",
	"scope.cluster",
	"scope.collection",
	"scope.db",
}

// ChangeCounts counts change streams by their options and scopes, and their batches and errors, since the start. It is
// safe for concurrent use.
type ChangeCounts [len(changePaths)]atomic.Int64

// Add adds n to the counter at a path. Without such a counter it does nothing.
func (x *ChangeCounts) Add(path string, n int) {
	if i, ok := slices.BinarySearch(changePaths[:], path); ok {
		x[i].Add(int64(n))
	}
}

// Load returns the counter at a path, 0 if there is none.
func (x *ChangeCounts) Load(path string) int64 {
	if i, ok := slices.BinarySearch(changePaths[:], path); ok {
		return x[i].Load()
	}
	return 0
}

// AppendTo appends all counters, in documents by the parts of their paths.
func (x *ChangeCounts) AppendTo(b *bson.Builder) {
	var open []string
	for i, path := range changePaths {
		parts := strings.Split(path, ".")
		in, name := parts[:len(parts)-1], parts[len(parts)-1]
		same := 0
		for same < min(len(open), len(in)) && open[same] == in[same] {
			same++
		}
		for range open[same:] {
			b.End()
		}
		for _, part := range in[same:] {
			b.BeginDoc(part)
		}
		open = in
		b.Int64(name, x[i].Load())
	}
	for range open {
		b.End()
	}
}
