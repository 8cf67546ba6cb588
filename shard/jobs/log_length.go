package jobs

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// logLength is how much of the change log is kept, over all processes that wrote it: it is
// stored with the counts. Bytes are those of records, before anything packs them.
type logLength struct {
	marks []logMark // ascending
	// since is where marks begin. What lies before it is not counted yet: a store that was
	// written by a program without stored marks.
	since storage.Timestamp
	grain int64 // bytes of a stretch at least; 0 = markBytes
}

// logMark is a stretch of the change log behind the one before.
type logMark struct {
	ts    storage.Timestamp // the last record of the stretch
	bytes int64             // of the stretch
	docs  int64             // records of it
}

// markBytes is the length of a stretch of a short log. Of a long one the stretches are as long
// as needed to have no more than marksMax: the grain of truncation.
const (
	markBytes = 4 << 20
	marksMax  = 256
)

// add counts a record at the end of the log.
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

// widen makes one stretch of each two.
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

// total is how many records there are, and their bytes.
func (l *logLength) total() (docs, bytes int64) {
	for _, m := range l.marks {
		docs, bytes = docs+m.docs, bytes+m.bytes
	}
	return docs, bytes
}

// beyond is up to where the log must go so that no more than bytes are left, 0 if that is so.
func (l *logLength) beyond(bytes int64) storage.Timestamp {
	for i := len(l.marks) - 1; i >= 0; i-- {
		if bytes -= l.marks[i].bytes; bytes < 0 {
			return l.marks[i].ts
		}
	}
	return 0
}

// cut forgets what was truncated.
func (l *logLength) cut(upTo storage.Timestamp) {
	for len(l.marks) > 0 && l.marks[0].ts <= upTo {
		l.marks = l.marks[1:]
	}
}

func logLengthKey() []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaCounter, []byte("log"))
}

// encode writes since, and three numbers for each mark: the distance of its time from the one
// before, bytes, records.
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

// decodeLogLength reads what encode wrote; what it cannot read is counted again.
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

// loadLogLength reads how long the log is that lies before at.
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

// countLog reads the log that lies before what is counted, once for a store whose log was
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

// LogKept is how many records of the change log are kept, and their bytes before anything
// packs them.
func (r *Runner) LogKept() (docs, bytes int64) {
	r.counts.pass.Lock()
	defer r.counts.pass.Unlock()
	return r.counts.log.total()
}
