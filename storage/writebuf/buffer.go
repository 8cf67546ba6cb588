package writebuf

import (
	"iter"

	"github.com/cantledb/cantle/storage"
)

// The memory that a Buffer keeps over Reset, in bytes, entries and blocks: that of a command with a thousand
// documents of usual size. Larger memory is freed.
const (
	keepBytes   = 4 << 20
	keepEntries = 4096
	keepBlocks  = 2 * keepEntries / blockMax
)

// LogRecord is one AppendLog call.
type LogRecord struct{ Stream, Rec []byte }

// State is the state of a key in a transaction's Buffer, which decides whether a read uses the snapshot.
type State uint8

const (
	Untouched State = iota // read the snapshot
	Written                // the buffer has the value
	Deleted                // absent, even if the snapshot has the key
)

// Buffer holds the uncommitted writes, locks and log records of one transaction. The zero value is empty and
// ready. It does not check keys and values; see CheckKey.
type Buffer struct {
	writes sortedEntries
	arena  arena
	locks  [][]byte
	logs   []LogRecord
	undo   []undo
	marks  []mark
	size   int

	epoch    uint32 // number of snapshots taken; each entry has the epoch in which it was written
	dirty    bool   // something was written in this epoch
	versions int    // number of older versions
}

// undo records how a rollback restores one key: to the entry prev if existed, else the key's write is removed.
type undo struct {
	prev    entry
	existed bool
}

// mark is a savepoint: it records the lengths and sizes to which a rollback returns.
type mark struct {
	undo, locks, logs, size, versions int
	arena                             arenaMark
}

// CheckKey returns ErrInvalidKey if callers may not use a key: it is empty, or its first byte is 0x00 or 0xFF.
func CheckKey(key []byte) error {
	if len(key) == 0 || key[0] == 0 || key[0] == 0xFF {
		return storage.ErrInvalidKey
	}
	return nil
}

// Set copies key and value into the buffer. value is not empty.
func (b *Buffer) Set(key, value []byte) { b.put(key, b.arena.copy(value)) }

// Delete copies key into the buffer as a deletion.
func (b *Buffer) Delete(key []byte) { b.put(key, nil) }

func (b *Buffer) put(key, value []byte) {
	b.dirty = true
	p, ok := b.writes.find(key)
	if ok {
		e := b.writes.entry(p)
		if len(b.marks) > 0 {
			b.undo = append(b.undo, undo{*e, true})
		}
		b.size += len(value) - len(e.value)
		if e.epoch < b.epoch {
			e.older = &version{e.value, e.older, e.epoch}
			b.versions++
		}
		e.value, e.epoch = value, b.epoch
		return
	}
	e := entry{key: b.arena.copy(key), value: value, epoch: b.epoch}
	if len(b.marks) > 0 {
		b.undo = append(b.undo, undo{prev: e})
	}
	b.writes.insert(p, e)
	b.size += len(key) + len(value)
}

// Lock copies key into the list of locks.
func (b *Buffer) Lock(key []byte) {
	b.locks = append(b.locks, b.arena.copy(key))
	b.size += len(key)
}

// AppendLog copies a log record.
func (b *Buffer) AppendLog(stream, rec []byte) {
	b.logs = append(b.logs, LogRecord{b.arena.copy(stream), b.arena.copy(rec)})
	b.size += len(stream) + len(rec)
}

// Get returns the buffered value of a key and its state. The value aliases the buffer.
func (b *Buffer) Get(key []byte) ([]byte, State) { return b.Newest().Get(key) }

// Len returns the number of keys written or deleted.
func (b *Buffer) Len() int { return b.writes.count }

// Bytes returns the size in bytes of all written and locked keys, newest values and log records with their
// streams.
func (b *Buffer) Bytes() int { return b.size }

// MemoryBytes returns the size in bytes of all keys, values and log records that the buffer keeps in memory,
// including overwritten values, which readers may still need.
func (b *Buffer) MemoryBytes() int { return b.arena.bytes + b.versions*versionBytes }

// Empty reports whether the buffer has no writes, locks and log records, so that a commit has nothing to do.
func (b *Buffer) Empty() bool { return b.writes.count == 0 && len(b.locks) == 0 && len(b.logs) == 0 }

// Locks returns the locked keys in the order of the Lock calls, aliasing the buffer.
func (b *Buffer) Locks() [][]byte { return b.locks }

// Logs returns the log records in the order of the AppendLog calls, aliasing the buffer.
func (b *Buffer) Logs() []LogRecord { return b.logs }

// All yields the written keys with their newest values, in key order; a nil value is a deletion.
func (b *Buffer) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for _, block := range b.writes.blocks {
			for i := range block {
				if !yield(block[i].key, block[i].value) {
					return
				}
			}
		}
	}
}

// SetsWithin returns the first and the last key in a range that is set, not deleted, aliasing the buffer; nil if there
// is none.
func (b *Buffer) SetsWithin(r storage.Range) (first, last []byte) {
	for p, _ := b.writes.find(r.Start); b.writes.valid(p); p = b.writes.next(p) {
		e := b.writes.entry(p)
		if !r.Contains(e.key) {
			break
		}
		if e.value != nil {
			if first == nil {
				first = e.key
			}
			last = e.key
		}
	}
	return first, last
}

// Savepoint marks the current state.
func (b *Buffer) Savepoint() storage.Savepoint {
	m := mark{len(b.undo), len(b.locks), len(b.logs), b.size, b.versions, b.arena.mark()}
	if n := len(b.marks); n == 0 || b.marks[n-1] != m {
		b.marks = append(b.marks, m)
	}
	return storage.Savepoint(len(b.marks) - 1)
}

// RollbackTo returns to a savepoint, which stays valid.
func (b *Buffer) RollbackTo(s storage.Savepoint) {
	if int(s) < 0 || int(s) >= len(b.marks) {
		panic("BUG: writebuf: unknown savepoint")
	}
	m := b.marks[s]
	b.marks = b.marks[:s+1]
	for i := len(b.undo) - 1; i >= m.undo; i-- {
		u := &b.undo[i]
		p, _ := b.writes.find(u.prev.key)
		if u.existed {
			*b.writes.entry(p) = u.prev
		} else {
			b.writes.remove(p)
		}
	}
	clear(b.undo[m.undo:])
	clear(b.locks[m.locks:])
	clear(b.logs[m.logs:])
	b.undo, b.locks, b.logs, b.size, b.versions = b.undo[:m.undo], b.locks[:m.locks], b.logs[:m.logs], m.size, m.versions
	b.arena.release(m.arena)
}

// Reset empties the buffer for another transaction, and frees the memory beyond keepBytes, keepEntries and
// keepBlocks.
func (b *Buffer) Reset() {
	b.writes.reset()
	clear(b.locks)
	clear(b.logs)
	clear(b.undo)
	b.locks, b.logs, b.undo, b.marks, b.size = b.locks[:0], b.logs[:0], b.undo[:0], b.marks[:0], 0
	b.epoch, b.dirty, b.versions = 0, false, 0
	if cap(b.locks) > keepEntries {
		b.locks = nil
	}
	if cap(b.logs) > keepEntries {
		b.logs = nil
	}
	if cap(b.undo) > keepEntries {
		b.undo = nil
	}
	if cap(b.marks) > keepEntries {
		b.marks = nil
	}
	b.arena.reset(keepBytes)
}
