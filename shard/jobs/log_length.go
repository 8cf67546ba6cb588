package jobs

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// logLength holds the length of the change log that is kept, over all servers that wrote it, so that it can be
// truncated by size. It is stored with the counts. Bytes are those of records before compression.
type logLength struct {
	marks []logMark // ascending
	// since is the time after which marks count the log. The log before it is not counted yet, because the store was
	// written by a program that did not store marks; 0 = all is counted.
	since storage.Timestamp
	grain int64 // minimum bytes of a stretch; 0 = markBytes
}

// logMark is a stretch of the change log: the records after those of the previous mark, up to ts.
type logMark struct {
	ts    storage.Timestamp // the last record of the stretch
	bytes int64             // of the stretch
	docs  int64             // records of the stretch
}

// markBytes is the minimum length, in bytes, of a stretch of the change log. The stretches of a long log are longer,
// so that it has at most marksMax of them. Truncation by size drops whole stretches.
const (
	markBytes = 4 << 20
	marksMax  = 256
)

// add counts a record of size bytes at the end of the log, in the last stretch or in a new one.
func (l *logLength) add(ts storage.Timestamp, size int) {
	n := len(l.marks)
	if n == 0 || l.marks[n-1].bytes >= max(l.grain, markBytes) && l.marks[n-1].ts != ts {
		if n == marksMax {
			l.widen()
		}
		l.marks = append(l.marks, logMark{})
		n = len(l.marks)
	}
	l.marks[n-1].ts = ts
	l.marks[n-1].bytes += int64(size)
	l.marks[n-1].docs++
}

// widen joins each two neighbouring stretches into one, and makes later stretches as long, so that a long log has at
// most marksMax.
func (l *logLength) widen() {
	half := l.marks[:0]
	for i := 0; i < len(l.marks); i += 2 {
		m := l.marks[i]
		if i+1 < len(l.marks) {
			next := l.marks[i+1]
			m = logMark{next.ts, m.bytes + next.bytes, m.docs + next.docs}
		}
		half = append(half, m)
	}
	l.marks = half
	total := int64(0)
	for _, m := range half {
		total += m.bytes
	}
	l.grain = 2 * total / marksMax
}

// total returns the number of records and their bytes.
func (l *logLength) total() (docs, bytes int64) {
	for _, m := range l.marks {
		docs, bytes = docs+m.docs, bytes+m.bytes
	}
	return docs, bytes
}

// beyond returns the time up to which the change log must be truncated to keep at most the given bytes; 0 if it is
// not longer.
func (l *logLength) beyond(bytes int64) storage.Timestamp {
	for i := len(l.marks) - 1; i >= 0; i-- {
		if bytes -= l.marks[i].bytes; bytes < 0 {
			return l.marks[i].ts
		}
	}
	return 0
}

// cut removes the stretches that were truncated.
func (l *logLength) cut(upTo storage.Timestamp) {
	for len(l.marks) > 0 && l.marks[0].ts <= upTo {
		l.marks = l.marks[1:]
	}
}

func logLengthKey() []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaCounter, []byte("log"))
}

// encode returns the length of the log for the store, as unsigned varints: since, and three numbers for each mark:
// the difference of its time from the previous one, bytes, records.
func (l *logLength) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(l.since))
	last := storage.Timestamp(0)
	for _, m := range l.marks {
		b = binary.AppendUvarint(b, uint64(m.ts-last))
		b = binary.AppendUvarint(b, uint64(m.bytes))
		b = binary.AppendUvarint(b, uint64(m.docs))
		last = m.ts
	}
	return b
}

// decodeLogLength decodes the result of encode. If it cannot be decoded, the log before at counts as not counted yet,
// and countLog counts it.
func decodeLogLength(b []byte, at storage.Timestamp) logLength {
	var l logLength
	bad := false
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			bad, b = true, nil
			return 0
		}
		b = b[n:]
		return v
	}
	l.since = storage.Timestamp(number())
	last := storage.Timestamp(0)
	for len(b) > 0 {
		m := logMark{last + storage.Timestamp(number()), int64(number()), int64(number())}
		l.marks, last = append(l.marks, m), m.ts
	}
	if bad || len(l.marks) > marksMax {
		return logLength{since: at}
	}
	return l
}

// loadLogLength reads the stored length of the change log. If none is stored, the log before at is not counted yet.
func loadLogLength(ctx context.Context, snap storage.Reader, at storage.Timestamp) (logLength, error) {
	v, err := snap.Get(ctx, logLengthKey(), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return logLength{since: at}, nil
	}
	if err != nil {
		return logLength{}, err
	}
	return decodeLogLength(v, at), nil
}

// countLog reads and counts the part of the change log whose length is not known, once for a store whose log was
// written by a program that did not store its length.
func (r *Runner) countLog(ctx context.Context) error {
	c := &r.counts
	c.pass.Lock()
	since := c.log.since
	c.pass.Unlock()
	if since == 0 {
		return nil
	}
	var old logLength
	stopped := error(nil)
	_, err := r.Store.ReadLog(ctx, changelog.Stream, 0, func(ts, _ storage.Timestamp, rec []byte) bool {
		if ts > since {
			return false
		}
		old.add(ts, len(rec))
		stopped = ctx.Err()
		return stopped == nil
	})
	if err := errors.Join(err, stopped); err != nil {
		return err
	}
	c.pass.Lock()
	defer c.pass.Unlock()
	if c.log.since != since {
		return nil // another server counted it meanwhile
	}
	for _, m := range c.log.marks {
		if len(old.marks) == marksMax {
			old.widen()
		}
		old.marks = append(old.marks, m)
	}
	c.log = old
	return nil
}

// LogLength returns the number of records of the change log that are kept, and their bytes before
// compression.
func (r *Runner) LogLength() (docs, bytes int64) {
	r.counts.pass.Lock()
	defer r.counts.pass.Unlock()
	return r.counts.log.total()
}
