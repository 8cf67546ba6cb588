package pebblekv

import "github.com/cantledb/cantle/storage"

// conflictKeysMax bounds the conflict table (about 40 bytes a key). Beyond it the
// oldest keys are forgotten, and transactions older than them conflict.
const conflictKeysMax = 1 << 20

// readerKeysMax is the size up to which the table also reaches back to the oldest
// open snapshot, so that a transaction can begin at it.
const readerKeysMax = 1 << 16

// conflicts stores when keys were last committed, by fingerprint: a collision
// causes a needless conflict, never a missed one. It is guarded by store.mu.
type conflicts struct {
	last    map[uint64]storage.Timestamp
	order   []keyCommit // a queue in commit order; order[:from] is free
	from    int
	horizon storage.Timestamp // commits up to here may be missing from the table
}

// keyCommit is the commit of one key.
type keyCommit struct {
	ts    storage.Timestamp
	print uint64
}

// newer reports whether a key was, or may have been, committed after start.
func (c *conflicts) newer(print uint64, start storage.Timestamp) bool {
	return c.horizon > start || c.last[print] > start
}

// anyNewer is newer for all keys of a transaction.
func (c *conflicts) anyNewer(prints []uint64, start storage.Timestamp) bool {
	if c.horizon > start && len(prints) > 0 {
		return true
	}
	if len(c.last) == 0 {
		return false
	}
	for _, p := range prints {
		if c.last[p] > start {
			return true
		}
	}
	return false
}

// add enters the keys of a commit.
func (c *conflicts) add(prints []uint64, ts storage.Timestamp) {
	for _, p := range prints {
		c.last[p] = ts
		c.order = append(c.order, keyCommit{ts, p})
	}
}

// len returns the number of entries.
func (c *conflicts) len() int { return len(c.order) - c.from }

// reset empties the table: no open snapshot is older than ts.
func (c *conflicts) reset(ts storage.Timestamp) {
	if c.len() > 0 {
		clear(c.last)
		c.order, c.from = c.order[:0], 0
	}
	c.horizon = ts
}

// prune drops entries that neither the oldest open transaction nor, while the table
// is small, the oldest open snapshot needs.
func (c *conflicts) prune(oldestTxn, oldestReader storage.Timestamp) {
	for c.from < len(c.order) {
		k := c.order[c.from]
		n := c.len()
		if n <= conflictKeysMax && (k.ts > oldestTxn || k.ts > oldestReader && n <= readerKeysMax) {
			break
		}
		if c.last[k.print] == k.ts {
			delete(c.last, k.print)
		}
		c.horizon = max(c.horizon, k.ts)
		c.from++
	}
	if c.from > 1024 && c.from > len(c.order)/2 {
		n := copy(c.order, c.order[c.from:])
		c.order, c.from = c.order[:n], 0
	}
}
