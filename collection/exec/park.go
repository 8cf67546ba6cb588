package exec

import "github.com/cantledb/cantle/storage"

// Parker is an operator that can let go, between two rows, of what it would find
// again: iterators and the blocks and files that they hold. What it returned before
// is not valid any more; the next row is the one that would have come. An operator
// that holds on to a row of its input is no Parker, or copies the row.
type Parker interface {
	// Park returns how many bytes remain beyond the memory budget of the command, and
	// false if something below was at work: then it is called again, later.
	Park() (bytes int, done bool)
}

// Park parks an operator if it can be parked.
func Park(op Operator) (bytes int, done bool) {
	if r, ok := op.(Parker); ok {
		return r.Park()
	}
	return 0, true
}

// parkAll is Park of several.
func parkAll(ops []Operator) (bytes int, done bool) {
	done = true
	for _, op := range ops {
		n, ok := Park(op)
		bytes, done = bytes+n, done && ok
	}
	return bytes, done
}

// remaining is where a scan goes on after it was parked: what an iterator that stood on an entry
// has not delivered of its range.
func remaining(it storage.Iterator, of storage.Range, reverse bool) storage.Range {
	key := it.Key()
	if reverse {
		return storage.Range{Start: of.Start, End: append([]byte(nil), key...)}
	}
	return storage.Range{Start: append(append(make([]byte, 0, len(key)+1), key...), 0), End: of.End}
}

func (s *skip) Park() (int, bool)       { return Park(s.in) }
func (l *limit) Park() (int, bool)      { return Park(l.in) }
func (r *returned) Park() (int, bool)   { return Park(r.in) }
func (p *projection) Park() (int, bool) { p.buf = nil; return Park(p.in) }
func (k *returnKey) Park() (int, bool)  { return Park(k.in) }
func (k *recordID) Park() (int, bool)   { k.buf = nil; return Park(k.in) }
func (k *keyed) Park() (int, bool)      { return Park(k.in) }

func (c *concat) Park() (int, bool) { return parkAll(c.in[c.at:]) }

func (p *pointRead) Park() (int, bool) { p.buf = nil; return 0, true }

func (s *recordScan) Park() (int, bool) {
	if s.it != nil {
		s.again, s.resume = remaining(s.it, s.current, s.node.Reverse), true
		if s.sought { // not delivered yet
			s.again.Start, s.sought = append([]byte(nil), s.it.Key()...), false
		}
		s.it.Close()
		s.it = nil
	}
	return 0, true
}

func (s *indexScan) Park() (int, bool) {
	if s.it != nil {
		s.again, s.resume = remaining(s.it, s.current, s.node.Reverse), true
		s.it.Close()
		s.it = nil
	}
	s.doc = nil
	return 0, true
}

func (f *fetch) Park() (int, bool) {
	n, done := Park(f.in)
	f.buf = nil
	if a := f.ahead; a != nil {
		n += a.page.bytes()
	}
	return n, done
}

func (w *watched) Park() (int, bool) {
	n, done := Park(w.op)
	return n + w.kept.bytes(), done
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
