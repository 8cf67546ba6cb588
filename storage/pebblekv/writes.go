package pebblekv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// LogPosition is a position in the order of all writes to the store, from which a backup goes on. Next is the
// sequence number of the first write after it, Time the commit timestamp of the last write before it.
type LogPosition struct {
	Next uint64
	Time storage.Timestamp
}

// Write is one commit, as the write-ahead log stores it. Backups copy it into segments.
type Write struct {
	First uint64            // its first sequence number
	Count uint32            // how many sequence numbers it has
	Time  storage.Timestamp // commit timestamp; 0 = not stored, then it is that of the previous write
	Batch []byte            // the operations in Pebble's format; valid until the visit function returns
}

// Next returns the sequence number after this write.
func (w *Write) Next() uint64 { return w.First + uint64(w.Count) }

// EachMeta calls visit with the kind and the key of each metadata that the write sets or deletes. Errors: ErrCorruption.
func (w *Write) EachMeta(visit func(kind keyspace.MetaKind, key []byte)) error {
	return eachOperation(w.Batch, func(_ pebble.InternalKeyKind, key, _ []byte) error {
		if kind, _, ok := keyspace.SplitMeta(key); ok {
			visit(kind, key)
		}
		return nil
	})
}

// KeepWrites starts to keep the write-ahead logs of all writes from now on, so that Writes can read them for a
// backup. It lasts across restarts, until EndKeeping; DropWrites deletes logs that are backed up. Logs that no
// backup has fetched are deleted after two days, beyond KeptBytes, or when the disk is full. It returns the folder
// of the kept logs, which may hold other files too.
func (s *store) KeepWrites() (folder string, err error) {
	if s.o.InMemory {
		return "", errNoFiles
	}
	switch {
	case s.o.Follow:
		return "", storage.ErrFollower
	case s.o.ReadOnly:
		return "", storage.ErrNotWritable
	}
	return s.retained.folder(), s.retained.begin()
}

// Keeping returns the folder in which write-ahead logs are kept for backups, and reports whether they are kept at
// present.
func (s *store) Keeping() (folder string, on bool) {
	return s.retained.folder(), s.retained.active.Load()
}

// EndKeeping deletes all logs that KeepWrites has kept for backups, and stops keeping them.
func (s *store) EndKeeping() error {
	if s.o.ReadOnly {
		return storage.ErrNotWritable
	}
	return s.retained.end()
}

// errNoFiles is the error of operations that copy files, if the store is in memory.
var errNoFiles = errors.New("pebblekv: a store in memory has no files to copy")

// Fence makes the store refuse the commits of transactions with ErrFollower from now on: another server has taken over its
// writes. All commits before it have ended.
func (s *store) Fence() {
	s.commit.Lock()
	defer s.commit.Unlock()
	s.fenced = true
}

// Folder returns the folder of the store.
func (s *store) Folder() string { return s.dir }

// MarkPosition commits a mark without other writes, and returns the position after it and the sequence number of
// the mark. It waits until everything up to there is durable. A backup ends at this position.
func (s *store) MarkPosition(ctx context.Context) (before uint64, behind LogPosition, err error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, LogPosition{}, err
	}
	defer done()
	switch {
	case s.o.Follow:
		return 0, LogPosition{}, storage.ErrFollower
	case s.o.ReadOnly:
		return 0, LogPosition{}, storage.ErrNotWritable
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(keyMark, encodeTimestamp(s.Latest()), nil); err != nil {
		return 0, LogPosition{}, s.translate(err)
	}
	ts, err := s.apply(b, &work{}, nil)
	if err != nil {
		return 0, LogPosition{}, err
	}
	first := uint64(b.SeqNum())
	return first, LogPosition{first + uint64(b.Count()), ts}, s.syncer.wait(ts)
}

// Written returns the sequence number after the last commit since the store was opened, 0 if there was none.
func (s *store) Written() uint64 { return s.written.Load() }

// Writes calls visit with each write whose sequence numbers are from from up to below upTo, in order and without a gap.
// Errors: storage.ErrLogTruncated, possibly after some visits, if a needed log was deleted; ErrClosed; errors of visit,
// of ctx and of the file system.
func (s *store) Writes(ctx context.Context, from, upTo uint64, visit func(Write) error) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	logs, err := s.retained.list()
	if err != nil {
		return err
	}
	begin := 0
	for i := len(logs) - 1; i >= 0; i-- {
		first, err := s.firstWrite(logs[i])
		if err != nil {
			return err
		}
		if first != 0 && first <= from {
			begin = i
			break
		}
	}
	next := from
	for _, l := range logs[begin:] {
		if next >= upTo {
			return nil
		}
		err := s.eachWrite(l, func(w Write) error {
			switch {
			case w.Next() <= next:
				return nil
			case w.First > next && follows(w.Batch) == next:
				w.First, w.Count = next, uint32(w.Next()-next)
			case w.First > next:
				return fmt.Errorf("%w: %d writes before the log %s are gone", storage.ErrLogTruncated, w.First-next, l.name)
			}
			if next >= upTo {
				return errStopVisit
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			next = w.Next()
			return visit(w)
		})
		if err != nil && !errors.Is(err, errStopVisit) {
			return err
		}
	}
	if next < upTo {
		return fmt.Errorf("%w: the log ends %d writes too early", storage.ErrLogTruncated, upTo-next)
	}
	return nil
}

// followsNote is the prefix of a note in the write-ahead log. The sequence number at which the logs ended when the
// store was opened, 8 bytes, comes after it.
const followsNote = "follows"

// endOfLogs returns the sequence number after the last write in all write-ahead logs, 0 if they hold no write.
func (s *store) endOfLogs() (end uint64, err error) {
	logs, err := s.retained.list()
	if err != nil {
		return 0, err
	}
	for _, l := range slices.Backward(logs) {
		err := s.eachWrite(l, func(w Write) error {
			end = w.Next()
			return nil
		})
		if err != nil || end != 0 {
			return end, err
		}
	}
	return 0, nil
}

// noteEnd stores in the first write of this process the sequence number at which the logs of earlier processes
// ended. A killed process may have assigned sequence numbers to writes that never reached its log, and the
// manifest may already count them. Without the note, Writes would report these unused numbers as lost writes.
func (s *store) noteEnd(end uint64) error {
	if end == 0 {
		return nil
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	return translate(errors.Join(b.LogData(binary.BigEndian.AppendUint64([]byte(followsNote), end), nil),
		b.Set(keyMark, encodeTimestamp(s.Latest()), nil), b.Commit(pebble.NoSync)))
}

// follows returns the sequence number in the note that noteEnd has added to a batch, 0 if there is none.
func follows(batch []byte) uint64 {
	for r := batchrepr.Read(batch); ; {
		kind, key, _, ok, err := r.Next()
		if !ok || err != nil {
			return 0
		}
		if note, is := bytes.CutPrefix(key, []byte(followsNote)); is && kind == pebble.InternalKeyKindLogData && len(note) == 8 {
			return binary.BigEndian.Uint64(note)
		}
	}
}

// DropWrites deletes kept write-ahead logs that only hold writes before a sequence number. A backup calls it when
// it has copied these writes.
func (s *store) DropWrites(before uint64) error {
	if !s.retained.active.Load() {
		return nil
	}
	logs, err := s.retained.list()
	if err != nil {
		return err
	}
	for i := len(logs) - 1; i >= 0; i-- {
		first, err := s.firstWrite(logs[i])
		if err != nil {
			return err
		}
		if first != 0 && first <= before {
			return s.retained.drop(logs[i].number)
		}
	}
	return nil
}

// limitRetained deletes logs kept for a backup that are older than two days, the oldest beyond KeptBytes, and all
// if the disk is full, and logs that. In a ReadOnly store it does nothing.
func (s *store) limitRetained(now time.Time) {
	if !s.o.ReadOnly && s.retained.limit(now, s.diskSpace.full()) {
		logger{s.o}.Errorf("logs that no backup has come for were deleted: moments between the last backup and the next are lost; make one")
	}
}

// errStopVisit is returned by visit functions in this file to stop after enough writes; it is no failure.
var errStopVisit = errors.New("enough")

// firstWrite returns the sequence number of the first write in a write-ahead log, 0 if the log holds none.
func (s *store) firstWrite(l walFile) (first uint64, err error) {
	err = s.eachWrite(l, func(w Write) error {
		first = w.First
		return errStopVisit
	})
	if errors.Is(err, errStopVisit) {
		err = nil
	}
	return first, err
}

// eachWrite calls visit with each write of one write-ahead log. At an incomplete or unreadable record, in which a
// log that is being written to may end, it returns nil.
func (s *store) eachWrite(l walFile, visit func(Write) error) error {
	file, err := s.retained.open(l)
	if err != nil {
		return err
	}
	defer file.Close()
	records := recordReader(record.NewReader, bufio.NewReaderSize(file, 256<<10), l.number)
	var batch []byte
	for {
		r, err := records.Next()
		if err == nil {
			batch, err = readInto(batch, r)
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, record.ErrUnexpectedEOF) || errors.Is(err, record.ErrInvalidChunk) || errors.Is(err, record.ErrZeroedChunk) {
				return nil // a caller that needs more writes detects the gap
			}
			return err
		}
		h, ok := batchrepr.ReadHeader(batch)
		if !ok || h.Count == 0 {
			continue // an empty record that requested a sync
		}
		if err := visit(Write{First: uint64(h.SeqNum), Count: h.Count, Time: timeOf(batch), Batch: batch}); err != nil {
			return err
		}
	}
}

// recordReader creates a reader of the records of a write-ahead log. It has a type parameter, because Pebble does
// not export the type of a log's number.
func recordReader[N ~uint64](open func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return open(r, N(number))
}

// readInto reads r to its end into the memory of dst, and enlarges it if necessary: io.ReadAll, but with reused
// memory.
func readInto(dst []byte, r io.Reader) ([]byte, error) {
	dst = dst[:0]
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// timeOf returns the commit timestamp of a batch from the write-ahead log: from its change-log records, else from
// the LogData that addLog has appended; 0 if neither is there.
func timeOf(batch []byte) (ts storage.Timestamp) {
	for r := batchrepr.Read(batch); ; {
		kind, key, _, ok, err := r.Next()
		switch {
		case !ok || err != nil:
			return ts
		case kind == pebble.InternalKeyKindLogData && len(key) == 8:
			ts = storage.Timestamp(binary.BigEndian.Uint64(key))
		case kind == pebble.InternalKeyKindSet && len(key) > 12 && key[0] == 0 && key[1] == 'l':
			ts = logKeyTimestamp(key)
		}
	}
}
