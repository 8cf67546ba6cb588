package history

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// What is stored: every five minutes the columns of ten seconds and of five minutes that have become full since,
// under a key of their level and time, and the table of rows to which their cells belong. A clean shutdown also
// stores the columns that are not full yet, and the seconds. A killed server loses
// the seconds, and at most five minutes of the rest.

// storedVersion is the version of the stored form; records of another version are ignored.
const storedVersion = 1

// storedRows is the stored table of rows, and the events.
type storedRows struct {
	Version int
	Rows    []storedRow
	Events  []Event
}

type storedRow struct {
	Used  int64
	Stays []storedStay
}

type storedStay struct {
	Part        Part
	Sort        []byte // of the Part; it need not be text
	From, Until int64
}

// storedColumns holds consecutive columns of one level. The last one may be partial: it was being filled when it was
// stored.
type storedColumns struct {
	Version int
	Level   int
	First   int64
	Columns []storedColumn
	Totals  []Total
}

type storedColumn struct {
	Mask  uint16
	Width uint16
	Cells []byte
}

// rowsName is the name of the record with the table of rows. columnsName returns the name of the record with the
// columns of a level in one period of five minutes, from the number of the period.
const rowsName = "rows"

func columnsName(level int, five int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{"stf"[level]}, uint64(five))
}

// StoreFullColumns stores the columns of ten seconds and of five minutes that have become full since the last call,
// if one of five minutes is among them.
func (r *Recorder) StoreFullColumns(ctx context.Context) {
	r.mu.Lock()
	due := r.Store != nil && r.rings[Fives].newest > r.kept
	r.mu.Unlock()
	if due {
		r.storeColumns(ctx, false)
	}
}

// storeColumns stores the columns of ten seconds and of five minutes that have become full since the last call and
// the table of rows; with final, also the columns that are not full and the seconds.
func (r *Recorder) storeColumns(ctx context.Context, final bool) {
	if r.Store == nil {
		return
	}
	err := r.dropTakenOver(ctx)
	var records []record
	if err == nil {
		records, err = r.records(final)
	}
	if err == nil {
		err = save(ctx, r.Store, records)
	}
	if err == nil {
		r.noteStored()
	}
	if err != nil && ctx.Err() == nil {
		r.Failed(fmt.Errorf("the history of partitions was not stored: %w", err))
	}
}

// Save stores everything, for a later start.
func (r *Recorder) Save(ctx context.Context) { r.storeColumns(ctx, true) }

// noteStored records that all full columns, except those of the level Seconds, are in the store.
func (r *Recorder) noteStored() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored = r.kept
}

// record is the name and the value of a record; a nil value deletes the record.
type record struct{ name, value []byte }

// records returns the records that storeColumns stores, and the deletions of those that are too old.
func (r *Recorder) records(final bool) ([]record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if final {
		r.update()
	}
	var out []record
	put := func(name []byte, v any) error {
		b, err := json.Marshal(v)
		out = append(out, record{name, b})
		return err
	}
	last := r.rings[Fives].newest
	if final {
		last++ // the column that is being filled
		if err := put(columnsName(Seconds, last), r.cut(Seconds, r.open-Span(Seconds), r.open, final)); err != nil {
			return nil, err
		}
	}
	for five := max(r.kept+1, last-levels[Fives].columns); five <= last; five++ {
		for _, l := range []int{Tens, Fives} {
			if err := put(columnsName(l, five), r.cut(l, five*idleSeconds, (five+1)*idleSeconds, final)); err != nil {
				return nil, err
			}
			if err := put(shapesName(l, five), r.cutShapes(l, five*idleSeconds, (five+1)*idleSeconds, final)); err != nil {
				return nil, err
			}
			out = append(out, record{columnsName(l, five-Span(l)/idleSeconds), nil}, record{shapesName(l, five-Span(l)/idleSeconds), nil})
		}
	}
	table := storedRows{Version: storedVersion, Events: r.events}
	for _, w := range r.rows.list {
		k := storedRow{Used: w.used}
		for _, s := range w.stays {
			part := *s.part
			part.Sort = ""
			k.Stays = append(k.Stays, storedStay{part, []byte(s.part.Sort), s.from, s.until})
		}
		table.Rows = append(table.Rows, k)
	}
	r.kept = r.rings[Fives].newest
	return out, put([]byte(rowsName), table)
}

// cut copies the columns of a level that lie in [from, to), for storing; with partial, including the one that is
// being filled.
func (r *Recorder) cut(level int, from, to int64, partial bool) storedColumns {
	ring := &r.rings[level]
	out := storedColumns{Version: storedVersion, Level: level, First: max(from/ring.step, ring.newest-int64(len(ring.columns))+1)}
	add := func(c column, t Total) {
		out.Columns = append(out.Columns, storedColumn{c.mask, c.width, c.cells})
		out.Totals = append(out.Totals, t)
	}
	n := out.First
	for ; n <= min(to/ring.step-1, ring.newest); n++ {
		add(ring.columns[ring.slot(n)], ring.totals[ring.slot(n)])
	}
	if partial && n == ring.newest+1 && n < to/ring.step {
		copied := *ring
		copied.columns, copied.totals, copied.shapes = make([]column, 1), make([]Total, 1), nil
		copied.close(n)
		add(copied.columns[0], copied.totals[0])
	}
	return out
}

// recordKey returns the key of a record of an owner.
func recordKey(owner, name []byte) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaHistory, slices.Concat(owner, name))
}

// save stores records in one transaction. It does not wait for the disk: a power failure costs five
// more minutes of history.
func save(ctx context.Context, store storage.Store, records []record) error {
	t, err := store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	own := owner(store)
	for _, x := range records {
		key := recordKey(own, x.name)
		if x.value == nil {
			err = t.Delete(key)
		} else {
			err = t.Set(key, x.value)
		}
		if err != nil {
			return err
		}
	}
	_, err = t.Commit(ctx, storage.Buffered)
	return err
}

// Load reads the stored history, before the first update, and deletes stored columns that are too old, and the
// seconds. With peers, it takes over the history of a dead server.
func (r *Recorder) Load(ctx context.Context) error {
	if r.Store == nil {
		return nil
	}
	if err := r.inherit(ctx); err != nil {
		return err
	}
	old, err := r.load(ctx, owner(r.Store))
	if err != nil {
		return err
	}
	r.noteStored()
	if len(old) == 0 {
		return nil
	}
	return save(ctx, r.Store, old)
}

// load reads the records whose names begin with prefix, and returns deletions for those that are no
// longer needed.
func (r *Recorder) load(ctx context.Context, prefix []byte) (old []record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	second := r.Now().Unix()
	r.begin(second)
	r.kept = r.rings[Fives].newest
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	it, err := snap.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaHistory, prefix), storage.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.Next() {
		_, name, _ := keyspace.SplitMeta(it.Key())
		if len(prefix) == 0 && name[0] == ofMember {
			continue // written while several servers used the store
		}
		name = name[len(prefix):]
		if string(name) == rowsName {
			r.loadRows(it.Value())
		} else if name[0] == shapesLetter {
			if !r.loadShapes(it.Value()) {
				old = append(old, record{bytes.Clone(name), nil})
			}
		} else if !r.loadColumns(it.Value()) || name[0] == columnsName(Seconds, 0)[0] {
			old = append(old, record{bytes.Clone(name), nil})
		}
	}
	return old, it.Err()
}

// loadRows reads the table of rows. A table that cannot be decoded is ignored.
func (r *Recorder) loadRows(value []byte) {
	var t storedRows
	if json.Unmarshal(value, &t) != nil || t.Version != storedVersion || len(t.Rows) > RowsMax {
		return
	}
	r.events = t.Events
	r.rows = rows{rowOf: map[ratelimit.ShardID]int{}, shared: map[ratelimit.ShardID]bool{}}
	for i, k := range t.Rows {
		w := row{used: k.Used}
		for _, s := range k.Stays {
			part := s.Part
			part.Sort = string(s.Sort)
			w.stays = append(w.stays, stay{&part, s.From, s.Until})
		}
		r.rows.list = append(r.rows.list, w)
		if s := w.now(); s != nil {
			r.rows.rowOf[s.part.Place] = i
		}
	}
}

// loadColumns reads columns; it reports whether some of them are still needed, false if they cannot be decoded.
func (r *Recorder) loadColumns(value []byte) (young bool) {
	var k storedColumns
	if json.Unmarshal(value, &k) != nil || k.Version != storedVersion ||
		k.Level < 0 || k.Level >= levelCount || len(k.Totals) != len(k.Columns) {
		return false
	}
	ring := &r.rings[k.Level]
	for i, c := range k.Columns {
		switch n := k.First + int64(i); {
		case ring.has(n):
			ring.push(n, column{c.Mask, c.Width, c.Cells}, k.Totals[i])
			young = true
		case n == ring.newest+1:
			ring.resume(column{c.Mask, c.Width, c.Cells}, k.Totals[i])
			young = true
		}
	}
	return young
}

// resume continues to fill a column that a restart interrupted: it computes the work so far from the stored values of
// the column's cells.
func (r *ring) resume(c column, t Total) {
	n := func(v float64) int64 { return int64(v*float64(r.step) + 0.5) }
	workOf := func(v func(Metric) float64) work {
		w := work{ru: n(v(RU) * 1e6), bytes: n(v(KiB) * 1024), reads: n(v(Reads)), writes: n(v(Writes)), refused: n(v(Refused)), fails: n(v(Failed)),
			refusedLeast: n(v(RefusedLeast) * 1e6), refusedMost: n(v(RefusedMost) * 1e6), retried: n(v(Retried) * 1e6)}
		w.ended = w.reads + w.writes + w.fails
		w.micros = int64(v(Latency) * 1000 * float64(w.ended))
		return w
	}
	for i := range min(int(c.width), RowsMax) {
		if w := workOf(func(m Metric) float64 { return Value(c.at(i, m)) }); w != (work{}) {
			r.add(i, &w)
		}
	}
	all := [metricCount]float32{RU: t.RU, Reads: t.Reads, Writes: t.Writes, Refused: t.Refused, Failed: t.Failed, KiB: t.KiB, Latency: t.P50}
	s := sums{work: workOf(func(m Metric) float64 { return float64(all[m]) }), provisioned: float64(t.Provisioned), connections: float64(t.Connections), busiest: float64(t.Busiest)}
	for i, v := range t.RefusedBy {
		s.refusedBy[i] = n(float64(v))
	}
	s.durations[durationBucket(millis(t.P50))] += s.reads + s.writes + s.fails
	r.sum.add(&s)
}
