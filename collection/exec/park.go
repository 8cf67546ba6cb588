package exec

import (
	"bytes"

	"github.com/cantledb/cantle/storage"
)

// parkAll parks several operators.
func parkAll(ops []Operator) (bytes int, done bool) {
	done = true
	for _, op := range ops {
		n, ok := op.Park()
		bytes, done = bytes+n, done && ok
	}
	return bytes, done
}

// from returns the part of a range that begins with a key, in the direction of a scan. It does not alias the key.
func from(of storage.Range, key []byte, reverse bool) storage.Range {
	if reverse {
		return storage.Range{Start: of.Start, End: behind(key)}
	}
	return storage.Range{Start: bytes.Clone(key), End: of.End}
}

// beyond is from without the key itself, which has been delivered.
func beyond(of storage.Range, key []byte, reverse bool) storage.Range {
	if reverse {
		return storage.Range{Start: of.Start, End: bytes.Clone(key)}
	}
	return storage.Range{Start: behind(key), End: of.End}
}

// behind returns the first key behind a key.
func behind(key []byte) []byte { return append(append(make([]byte, 0, len(key)+1), key...), 0) }

func (s *skip) Park() (int, bool)       { return s.in.Park() }
func (l *limit) Park() (int, bool)      { return l.in.Park() }
func (r *returned) Park() (int, bool)   { return r.in.Park() }
func (p *projection) Park() (int, bool) { p.buf = nil; return p.in.Park() }
func (k *returnKey) Park() (int, bool)  { return k.in.Park() }
func (k *recordID) Park() (int, bool)   { k.buf = nil; return k.in.Park() }
func (k *keyed) Park() (int, bool)      { return k.in.Park() }

func (t *textMatch) Park() (int, bool) { return t.in.Park() }

func (c *concat) Park() (int, bool)    { return parkAll(c.in[c.at:]) }
func (u *union) Park() (int, bool)     { return parkAll(u.in[u.at:]) }
func (x *intersect) Park() (int, bool) { return parkAll(x.in) }
func (t *textOr) Park() (int, bool)    { return parkAll(t.in[t.at:]) }

// These operators have nothing to release between two rows: they hold only memory, which the command's memory
// budget counts, or temporary files of their own.
func (*eof) Park() (int, bool)       { return 0, true }
func (*documents) Park() (int, bool) { return 0, true }
func (*sorter) Park() (int, bool)    { return 0, true }
func (*geoNear) Park() (int, bool)   { return 0, true }

func (p *pointRead) Park() (int, bool) { p.row = Row{}; return 0, true }

func (s *recordScan) Park() (int, bool) {
	if s.inserted != nil {
		s.inserted.park()
	}
	if s.it != nil {
		rest := beyond
		if s.onRecord { // not delivered yet
			rest, s.onRecord = from, false
		}
		s.unread, s.resume = rest(s.current, s.it.Key(), s.node.Reverse), true
		s.it.Close()
		s.it = nil
	}
	return 0, true
}

func (s *indexScan) Park() (int, bool) {
	if s.it != nil {
		s.unread, s.resume = beyond(s.current, s.it.Key(), s.node.Reverse), true
	}
	s.release()
	if s.made != nil {
		s.made.doc = nil
	}
	return 0, true
}

func (f *fetch) Park() (int, bool) {
	n, done := f.in.Park()
	f.buf = nil
	if a := f.ahead; a != nil {
		n += a.page.bytes()
	}
	return n, done
}

func (w *cachedPlanOp) Park() (int, bool) {
	n, done := w.op.Park()
	return n + w.heldBack.bytes(), done
}

func (m *merge) Park() (int, bool) {
	n := 0
	for _, x := range m.heap.items {
		var own page
		row := own.copy(x.row)
		if x.key != nil {
			x.key = append([]byte(nil), x.key...)
		}
		x.row, x.buf = &row, nil
		n += own.bytes() + len(x.key)
	}
	below, done := parkAll(m.in)
	return n + below, done
}
