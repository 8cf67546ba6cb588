package exec

import "github.com/cantledb/cantle/storage"

// parkAll parks several operators.
func parkAll(ops []Operator) (bytes int, done bool) {
	done = true
	for _, op := range ops {
		n, ok := op.Park()
		bytes, done = bytes+n, done && ok
	}
	return bytes, done
}

// remaining returns the key range at which a scan continues after it was parked: the part of its range beyond
// the entry at the iterator, which has been delivered.
func remaining(it storage.Iterator, of storage.Range, reverse bool) storage.Range {
	key := it.Key()
	if reverse {
		return storage.Range{Start: of.Start, End: append([]byte(nil), key...)}
	}
	return storage.Range{Start: append(append(make([]byte, 0, len(key)+1), key...), 0), End: of.End}
}

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
		s.unread, s.resume = remaining(s.it, s.current, s.node.Reverse), true
		if s.onRecord { // not delivered yet
			s.unread.Start, s.onRecord = append([]byte(nil), s.it.Key()...), false
		}
		s.it.Close()
		s.it = nil
	}
	return 0, true
}

func (s *indexScan) Park() (int, bool) {
	if s.it != nil {
		s.unread, s.resume = remaining(s.it, s.current, s.node.Reverse), true
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
