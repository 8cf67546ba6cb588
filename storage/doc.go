// Package storage is the interface between the document engine and the storage
// engines: one ordered, transactional key space. All data of the server (catalog,
// records, index entries, change log) lie in one Store. So a transaction over
// several shards, one snapshot for a scatter-gather, and a split that moves no
// record need no further mechanism.
//
//	collection/…, shard/…, wire/session
//	              │ Store, Reader, Txn, Iterator
//	              ▼
//	storage/{pebblekv, tikvkv, memkv, faultkv, …}
//
// The interfaces carry the whole contract; engines document only what differs. storagetest.Conformance tests the
// engines by it. The rules:
//
//  1. Snapshot isolation, first committer wins. A Txn reads one snapshot, taken by Begin, plus
//     its own writes. Write skew is possible unless Lock is used; Lock counts as a write of the
//     key for conflict detection and changes nothing.
//  2. The timestamp passed to Begin and Snapshot is 0 (newest) or one at which a Reader is still
//     open. An engine may accept other timestamps too.
//  3. Get copies into dst; iterators alias the engine's memory until their next step.
//  4. A value is never empty. A key is never empty and its first byte lies in 0x01..0xFE: other
//     keys belong to the engine.
//  5. While an iterator of a Txn is open, the caller must not write to the Txn.
//  6. Seek only moves forward, in the direction of the iterator.
//  7. Commit ends the transaction whatever happens. ErrConflict: nothing was written.
//     ErrUndetermined: the commit may or may not have happened. Close ends a Txn abandoned
//     without Commit and does nothing after Commit.
//  8. Records of AppendLog get their position in the stream at commit. ReadLog delivers a stream
//     in commit order, shows only what is durable and never skips a record that appears later.
//  9. A snapshot's timestamp is not before the newest commit when it was opened. Timestamps may
//     also increase without commits.
//  10. Engines do not retry. The caller has the retry loop, with a bound and jitter, and never
//     matches error texts.
//
// Terms: snapshot — the state after exactly the commits up to one timestamp; durable — would
// survive a power cut; undetermined — the outcome of a commit is unknown; latch — a short wait for
// a key that avoids a conflict; stream — one named sequence of log records.
package storage
