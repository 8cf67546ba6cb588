package pebblekv

import "github.com/cantledb/cantle/storage"

// conflictKeysMax is the maximum number of keys in the conflict table, at about 40 bytes a key. Beyond it the
// oldest keys are dropped, and transactions that began before their commits are refused with a conflict.
const conflictKeysMax = 1 << 20

// readerKeysMax is the number of keys up to which the conflict table keeps all commits since the oldest open
// snapshot, so that a transaction can still begin at that snapshot.
const readerKeysMax = 1 << 16

// conflicts is the table of recently committed keys, by which commit detects write conflicts. It maps the
// fingerprint of a key to the timestamp of its last commit. Keys with the same fingerprint cause a needless
// conflict, never a missed one. Guarded by store.mu.
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

// newer reports whether the key with a fingerprint was, or may have been, committed after start, the timestamp at
// which a transaction began.
func (c *conflicts) newer(print uint64, start storage.Timestamp) bool {
	return c.horizon > start || c.last[print] > start
}

// anyNewer reports whether any key of a transaction was, or may have been, committed after start, the timestamp at
// which it began.
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

// add enters the fingerprints of the keys of a commit with its timestamp into the table.
func (c *conflicts) add(prints []uint64, ts storage.Timestamp) {
	for _, p := range prints {
		c.last[p] = ts
		c.order = append(c.order, keyCommit{ts, p})
	}
}

// len returns the number of committed keys in the table.
func (c *conflicts) len() int { return len(c.order) - c.from }

// reset empties the table of recently committed keys. It is called when no reader or transaction is open, after a
// commit at timestamp ts.
func (c *conflicts) reset(ts storage.Timestamp) {
	if c.len() > 0 {
		clear(c.last)
		c.order, c.from = c.order[:0], 0
	}
	c.horizon = ts
}

// prune drops the oldest entries of the table. It keeps those after the start of the oldest open transaction,
// which a commit may still need, and, while the table has at most readerKeysMax entries, also those after the
// oldest open snapshot. Entries beyond conflictKeysMax are dropped in any case.
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
