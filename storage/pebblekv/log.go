package pebblekv

import (
	"context"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// ReadLog implements storage.Store.
func (s *store) ReadLog(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (next storage.Timestamp, err error) {
	done, err := s.use(ctx)
	if err != nil {
		return after, err
	}
	defer done()
	durable := s.Durable()
	if after >= durable {
		return after, nil
	}
	it, err := s.logIter(stream, after, durable)
	if err != nil {
		return after, err
	}
	defer func() {
		if closeErr := s.translate(it.Close()); err == nil {
			err = closeErr
		}
	}()
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return after, err
		}
		ts := logKeyTimestamp(it.Key())
		rec, err := it.ValueAndErr()
		if err != nil {
			return after, s.translate(err)
		}
		if !yield(ts, logKeyOwn(it.Key()), rec) {
			return ts - 1, nil
		}
	}
	if err := it.Error(); err != nil {
		return after, s.translate(err)
	}
	return durable, nil
}

// ReadLogBack implements storage.Store.
func (s *store) ReadLogBack(ctx context.Context, stream []byte, upTo, after storage.Timestamp, yield func(ts storage.Timestamp, rec []byte) bool) (err error) {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if upTo = min(upTo, s.Durable()); after >= upTo {
		return nil
	}
	it, err := s.logIter(stream, after, upTo)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.translate(it.Close()); err == nil {
			err = closeErr
		}
	}()
	for ok := it.Last(); ok; ok = it.Prev() {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := it.ValueAndErr()
		if err != nil {
			return s.translate(err)
		}
		if !yield(logKeyTimestamp(it.Key()), rec) {
			return nil
		}
	}
	return s.translate(it.Error())
}

// logIter opens an iterator over the change-log records of a stream with after < timestamp <= upTo. Errors:
// ErrLogTruncated if after > 0 and TruncateLog has deleted records after it.
func (s *store) logIter(stream []byte, after, upTo storage.Timestamp) (*pebble.Iterator, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendLogKey(nil, stream, after+1, 0),
		UpperBound: appendLogKey(nil, stream, upTo+1, 0),
	})
	if err != nil {
		return nil, s.translate(err)
	}
	// The truncation mark is read after the iterator was opened, and TruncateLog sets it before it deletes: so a
	// deletion that the iterator sees is in the mark.
	mark := storage.Timestamp(0)
	if after > 0 {
		mark, err = s.truncated(stream)
	}
	if err == nil && mark > after {
		err = storage.ErrLogTruncated
	}
	if err != nil {
		return nil, errors.Join(err, s.translate(it.Close()))
	}
	return it, nil
}

// truncated returns the timestamp up to which TruncateLog has deleted a stream of the change log, 0 if it never
// has. It reads the mark from the store once per stream, and then from memory.
func (s *store) truncated(stream []byte) (storage.Timestamp, error) {
	s.marks.Lock()
	defer s.marks.Unlock()
	if ts, ok := s.marks.of[string(stream)]; ok {
		return ts, nil
	}
	ts := storage.Timestamp(0)
	v, err := s.read(appendTruncatedKey(nil, stream))
	if err == nil {
		ts, err = decodeTimestamp(v)
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return 0, err
	}
	s.marks.of[string(stream)] = ts
	return ts, nil
}

// lastRecord returns the timestamp of the last change-log record of a stream with after < timestamp <= upTo, 0 if
// there is none.
func (s *store) lastRecord(stream []byte, after, upTo storage.Timestamp) (ts storage.Timestamp, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendLogKey(nil, stream, after+1, 0),
		UpperBound: appendLogKey(nil, stream, upTo+1, 0),
	})
	if err != nil {
		return 0, s.translate(err)
	}
	if it.Last() {
		ts = logKeyTimestamp(it.Key())
	}
	return ts, s.translate(it.Close())
}

// logMarks caches, per stream of the change log, the timestamp up to which TruncateLog has deleted it.
type logMarks struct {
	sync.Mutex
	of map[string]storage.Timestamp // by stream; 0 = never truncated; a stream whose mark was not read yet is missing
}

// TruncateLog implements storage.Store. It deletes by one range tombstone, which begins at the mark of the
// truncation before, so that tombstones do not cover each other and pile up.
func (s *store) TruncateLog(ctx context.Context, stream []byte, ts storage.Timestamp) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.o.Follow {
		return storage.ErrFollower
	}
	ts = min(ts, s.Durable())
	s.commit.Lock()
	defer s.commit.Unlock()
	mark, err := s.truncated(stream)
	if err != nil || ts <= mark {
		return err
	}
	if ts, err = s.lastRecord(stream, mark, ts); err != nil || ts == 0 {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	dropped := storage.Range{Start: appendLogKey(nil, stream, mark, 0), End: appendLogKey(nil, stream, ts+1, 0)}
	if err := b.DeleteRange(dropped.Start, dropped.End, nil); err != nil {
		return s.translate(err)
	}
	if err := b.Set(appendTruncatedKey(nil, stream), encodeTimestamp(ts), nil); err != nil {
		return s.translate(err)
	}
	// The mark is set before the records are deleted: a reader that could still read the records may get
	// ErrLogTruncated, but no reader may miss records without that error.
	s.marks.Lock()
	s.marks.of[string(stream)] = ts
	s.marks.Unlock()
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		return s.translate(err)
	}
	if s.diskSpace.nearlyFull() {
		s.reclaimer.addSpan(dropped)
	}
	return nil
}
