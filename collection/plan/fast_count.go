package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
)

// FastCount delivers one row without a document for each record of a shard. Their number comes from the counters of
// the shard, and nothing is read.
// Manual: reference/command/count (the collection's metadata); the name of the stage is MongoDB's.
type FastCount struct {
	// Priced reports that each row costs as much as an index entry that is counted, as in the scan that a transaction
	// needs. Otherwise the visit of the shard is all that is charged.
	Priced bool
	// Skip and Limit are those of a count on one shard. The rows are delivered nevertheless; explain applies them to
	// its numbers.
	Skip, Limit int64
}

// Charge charges what a shard costs whose counter has a number of rows.
func (n *FastCount) Charge(m *ratelimit.Meter, shard int, rows int64) {
	m.Visit(shard, 1)
	if n.Priced && rows > 0 {
		m.Add(shard, ratelimit.CountEntry, rows)
	}
}

// Stage implements Node.
func (*FastCount) Stage() string { return "RECORD_STORE_FAST_COUNT" }

// Inputs implements Node.
func (*FastCount) Inputs() []Node { return nil }

// Describe implements Node.
func (*FastCount) Describe(*bson.Builder) {}

// Window returns the number of rows that a skip and a limit (0 = none) leave of n rows.
func Window(n, skip, limit int64) int64 {
	n = max(0, n-skip)
	if limit > 0 {
		n = min(n, limit)
	}
	return n
}
