package pebblekv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// FollowPosition is the position, in the writes of another store, up to which a store that follows it has applied them.
// It is stored with them, so that no write is applied twice or left out after a crash.
type FollowPosition struct {
	Timeline string            // names the history of the other store that the sequence numbers belong to
	Next     uint64            // sequence number, in the other store, of the first write that was not applied
	Time     storage.Timestamp // timestamp of the newest applied write
}

func (p FollowPosition) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.Time))
	b = binary.BigEndian.AppendUint64(b, p.Next)
	return append(b, p.Timeline...)
}

func decodeFollowPosition(b []byte) (p FollowPosition, err error) {
	if len(b) < 16 {
		return p, storage.ErrCorruption
	}
	return FollowPosition{string(b[16:]), binary.BigEndian.Uint64(b[8:]), storage.Timestamp(binary.BigEndian.Uint64(b))}, nil
}

// BeginFollow makes restored files, which no process has open, those of a store that follows another one: they have
// all its writes up to a position.
func BeginFollow(dir string, p FollowPosition) error {
	s, err := openRestored(dir)
	if err != nil {
		return err
	}
	return s.closeRestored(translate(s.db.Set(keyFollow, p.encode(), pebble.NoSync)))
}

// recoverPosition returns the timestamp of the newest state of the store: of a store that follows another one that of
// its position, of others latest. With EndFollow it deletes the position. Errors: ErrFollower if the store follows another one and was opened for writing;
// ErrFollowsNone if it follows none and was opened with Follow.
func (s *store) recoverPosition(latest storage.Timestamp) (storage.Timestamp, error) {
	stored, err := s.read(keyFollow)
	switch {
	case errors.Is(err, storage.ErrNotFound) && s.o.Follow:
		return 0, ErrFollowsNone
	case errors.Is(err, storage.ErrNotFound):
		return latest, nil
	case err != nil:
		return 0, err
	}
	p, err := decodeFollowPosition(stored)
	switch {
	case err != nil:
		return 0, err
	case s.o.EndFollow:
		return max(latest, p.Time), s.translate(s.db.Delete(keyFollow, pebble.Sync))
	case !s.o.Follow && !s.o.ReadOnly:
		return 0, storage.ErrFollower
	}
	s.position = p
	return max(p.Time, 1), nil
}

// ErrFollowsNone: the store was opened with Options.Follow, and follows no other one.
var ErrFollowsNone = errors.New("the store is no copy of another one that it could follow")

// Follower is a store that follows another one: it has the writes of that one, in their order and with their
// timestamps, and accepts no others. Like a store with several members, it is written to by another process.
type Follower interface {
	storage.Shared
	// Position returns the position up to which the writes of the other store are applied.
	Position() FollowPosition
	// Harden makes all that was applied survive a crash. Errors: ErrClosed, errors of the file system.
	Harden(ctx context.Context) error
	// Applier returns an empty Applier. Only one at a time may be in use.
	Applier() *Applier
}

type follower struct {
	*store
	storage.Membership
}

// Position implements Follower.
func (f *follower) Position() FollowPosition {
	f.commit.Lock()
	defer f.commit.Unlock()
	return f.position
}

// Harden implements Follower. Sync of a follower does nothing, because what was applied can be applied again.
func (f *follower) Harden(ctx context.Context) error {
	done, err := f.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	return f.translate(f.db.LogData(nil, pebble.Sync))
}

// Applier implements Follower.
func (f *follower) Applier() *Applier {
	p := f.Position()
	return &Applier{s: f.store, next: p, b: f.db.NewBatch(), truncated: map[string]storage.Timestamp{}}
}

// Applied reports which data that servers keep in memory are among applied writes.
type Applied struct {
	Catalog bool // databases, collections, indexes, shard maps
	Topics  bool // users, roles, settings
}

// Any reports whether there are any such data.
func (a Applied) Any() bool { return a.Catalog || a.Topics }

// Applier applies writes of a store to one that follows it. It collects writes (Add), which become visible and durable
// together (Commit).
type Applier struct {
	s         *store
	b         *pebble.Batch
	w         work
	next      FollowPosition
	applied   Applied
	truncated map[string]storage.Timestamp // new truncation marks of streams of the change log
}

// applyBytes is the size in bytes from which on collected writes are committed.
const applyBytes = 1 << 20

// Full reports whether Commit is due: the writes are large, or data that servers keep in memory are among them, which
// have to be read again before later writes become visible.
func (a *Applier) Full() bool { return a.b.Len() >= applyBytes || a.applied.Any() }

// Add collects one write; earlier ones than the position are ignored. Errors: ErrFormat for a write of an unknown
// kind, or one by which the other store gets an unknown format; ErrCorruption if writes are missing
// before this one, or it cannot be decoded.
func (a *Applier) Add(w Write) error {
	switch {
	case w.Next() <= a.next.Next:
		return nil
	case w.First > a.next.Next:
		return fmt.Errorf("%w: %d writes are missing", storage.ErrCorruption, w.First-a.next.Next)
	}
	if err := eachOperation(w.Batch, a.addOne); err != nil {
		return err
	}
	a.next.Next, a.next.Time = w.Next(), max(a.next.Time, w.Time)
	return nil
}

// addOne collects one operation of a write.
func (a *Applier) addOne(kind pebble.InternalKeyKind, key, value []byte) error {
	caller := len(key) > 0 && key[0] != 0
	switch {
	case !caller:
		if skip, err := a.noteEngineKey(kind, key, value); skip || err != nil {
			return err
		}
	case kind == pebble.InternalKeyKindSet:
		a.w.buf.Set(key, value)
		a.note(key)
	case kind == pebble.InternalKeyKindDelete:
		a.w.buf.Delete(key)
		a.note(key)
	case kind == pebble.InternalKeyKindRangeDelete:
		a.w.ranges = true
	}
	return addOperation(a.b, kind, key, value)
}

// note records whether a key belongs to data that servers keep in memory.
func (a *Applier) note(key []byte) {
	kind, _, ok := keyspace.SplitMeta(key)
	if !ok {
		return
	}
	switch kind {
	case keyspace.MetaCollection, keyspace.MetaDatabase, keyspace.MetaVersion:
		a.applied.Catalog = true
	case keyspace.MetaRole, keyspace.MetaUser, keyspace.MetaSetting:
		a.applied.Topics = true
	}
}

// noteEngineKey examines a write of the engine itself. skip means that it is not to be applied.
func (a *Applier) noteEngineKey(kind pebble.InternalKeyKind, key, value []byte) (skip bool, err error) {
	if kind != pebble.InternalKeyKindSet {
		return false, nil
	}
	switch {
	case bytes.Equal(key, keyFollow):
		return true, nil
	case bytes.Equal(key, keyFormat):
		return false, knownFormat(value)
	case len(key) > 2 && key[1] == 'x':
		a.truncated[string(key[2:])], err = decodeTimestamp(value)
	}
	return false, err
}

// Commit makes the collected writes visible, all at once, and returns what they have changed besides documents. The
// Applier is empty afterwards. The writes survive a crash with their position, or are lost with it. Errors: ErrDiskFull,
// ErrClosed; ErrUndetermined, after which the store must be opened again.
func (a *Applier) Commit(ctx context.Context) (applied Applied, err error) {
	s := a.s
	done, err := s.use(ctx)
	if err != nil {
		return applied, err
	}
	defer done()
	if s.diskSpace.full() {
		return applied, storage.ErrDiskFull
	}
	for key, value := range a.w.buf.All() {
		print := maphash.Bytes(s.seed, key)
		a.w.prints = append(a.w.prints, print)
		a.w.replacements = append(a.w.replacements, s.hot.replacement(key, value, print))
	}
	if err := a.b.Set(keyFollow, a.next.encode(), nil); err != nil {
		return applied, s.translate(err)
	}
	if err := s.applyFollowed(a); err != nil {
		return applied, err
	}
	applied = a.applied
	a.reset()
	return applied, nil
}

// Close drops the collected writes.
func (a *Applier) Close() { _ = a.b.Close() }

func (a *Applier) reset() {
	_ = a.b.Close()
	a.b, a.applied = a.s.db.NewBatch(), Applied{}
	a.w.reset()
	a.w.ranges = false
	clear(a.truncated)
}

// applyFollowed applies the writes of an Applier as a commit at the timestamp of the last of them. See apply.
func (s *store) applyFollowed(a *Applier) error {
	s.commit.Lock()
	defer s.commit.Unlock()
	ts := a.next.Time
	if ts <= s.Latest() && !a.w.buf.Empty() {
		return fmt.Errorf("%w: a write has the time %d,%d, and is not after the one before it", storage.ErrCorruption, ts.Seconds(), ts.Increment())
	}
	s.mu.Lock()
	s.materialize(s.snaps.newest)
	s.mu.Unlock()
	s.marks.Lock()
	for stream, mark := range a.truncated { // see TruncateLog
		s.marks.of[stream] = mark
	}
	s.marks.Unlock()
	s.diskSpace.unflushedBytes.Add(int64(a.b.Len()))
	if err := s.db.Apply(a.b, pebble.NoSync); err != nil {
		s.mu.Lock()
		s.dead.disable()
		s.mu.Unlock()
		return fmt.Errorf("%w: %w", storage.ErrUndetermined, s.translate(err))
	}
	first := uint64(a.b.SeqNum())
	s.unflushed.add(&a.w.buf, first, a.b.Count())
	s.position = a.next
	if ts <= s.Latest() { // only the engine itself has written
		return nil
	}
	s.refreshHot(&a.w, ts)
	s.commits.Add(1)
	if first == 0 {
		first = s.written.Load()
	}
	s.written.Store(first + uint64(a.b.Count()))
	s.mu.Lock()
	s.dead.cut(&a.w.buf)
	s.latest.Store(uint64(ts))
	unused := s.snaps.advance(ts)
	s.mu.Unlock()
	// The writes count as durable at once, because the place that they come from has them: after a crash they are
	// applied again.
	s.syncer.advance(ts)
	s.anchor.close(unused)
	return nil
}
