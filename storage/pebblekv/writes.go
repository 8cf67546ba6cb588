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
)

// LogPosition is a position in the order of all writes: after all with a sequence number below Next, the last of
// which was committed at Time.
type LogPosition struct {
	Next uint64
	Time storage.Timestamp
}

// Write is one commit as stored in the write-ahead log.
type Write struct {
	First uint64            // its first sequence number
	Count uint32            // how many sequence numbers it has
	Time  storage.Timestamp // 0 if it is not stored: the same as that of the previous write
	Batch []byte            // valid until the visit returns
}

// Next returns the sequence number after this write.
func (w *Write) Next() uint64 { return w.First + uint64(w.Count) }

// KeepWrites keeps all writes from now on for Writes, also across a restart, until DropWrites or EndKeeping.
// Logs that no backup has fetched are deleted after two days, or beyond KeptBytes. It returns the folder in
// which logs are kept, which may hold other files too.
func (s *store) KeepWrites() (folder string, err error) {
	if s.o.InMemory {
		return "", errNoFiles
	}
	if s.o.ReadOnly {
		return "", storage.ErrNotWritable
	}
	return s.retained.folder(), s.retained.begin()
}

// Keeping returns the folder in which logs are kept, and reports whether they are.
func (s *store) Keeping() (folder string, on bool) {
	return s.retained.folder(), s.retained.active.Load()
}

// EndKeeping deletes all logs that KeepWrites has kept, and stops keeping them.
func (s *store) EndKeeping() error {
	if s.o.ReadOnly {
		return storage.ErrNotWritable
	}
	return s.retained.end()
}

// errNoFiles is the error of operations that need files.
var errNoFiles = errors.New("pebblekv: a store in memory has no files to copy")

// Folder returns the folder of the store.
func (s *store) Folder() string { return s.dir }

// MarkPosition commits only a mark, and returns the positions before and after it once everything up to there is
// durable.
func (s *store) MarkPosition(ctx context.Context) (before uint64, behind LogPosition, err error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, LogPosition{}, err
	}
	defer done()
	if s.o.ReadOnly {
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

// Writes visits the writes with sequence numbers from from up to below upTo, in order and without a gap.
// Errors: storage.ErrLogTruncated, possibly after some visits, if writes are not kept any more; those of
// visit.
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

// followsNote begins a note in the write-ahead log. After it stands the sequence number at which the logs
// ended when the store was opened.
const followsNote = "follows"

// endOfLogs returns the sequence number after the last write in all logs, 0 if there is none.
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

// noteEnd stores in the first write of this process where the logs of earlier processes ended. A process that
// was killed may have assigned sequence numbers to writes that never reached its log, and the manifest may
// already count them. Without the note, these unused numbers would look like lost writes.
func (s *store) noteEnd(end uint64) error {
	if end == 0 {
		return nil
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	return translate(errors.Join(b.LogData(binary.BigEndian.AppendUint64([]byte(followsNote), end), nil),
		b.Set(keyMark, encodeTimestamp(s.Latest()), nil), b.Commit(pebble.NoSync)))
}

// follows returns the number that noteEnd has written into a batch, 0 if there is none.
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

// DropWrites deletes kept logs with only writes before a sequence number.
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

// limitRetained deletes logs that no backup has fetched, if they are too large or too old. In a ReadOnly store it
// does nothing.
func (s *store) limitRetained(now time.Time) {
	if !s.o.ReadOnly && s.retained.limit(now, s.diskSpace.full()) {
		logger{s.o}.Errorf("logs that no backup has come for were deleted: moments between the last backup and the next are lost; make one")
	}
}

// errStopVisit ends a visit early.
var errStopVisit = errors.New("enough")

// firstWrite returns the sequence number of the first write of a log, 0 if it has none.
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

// eachWrite visits the writes of a log up to its end. A log that is being written to may end in an incomplete
// record.
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

// recordReader creates a reader of the records of a log. It is generic because the type of a log's number is
// not exported by Pebble.
func recordReader[N ~uint64](open func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return open(r, N(number))
}

// readInto is io.ReadAll into reused memory.
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

// timeOf returns the commit timestamp of a batch: from its log records, or else from the note that apply has
// appended; 0 if neither is there.
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
