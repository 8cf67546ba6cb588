package exec

import "github.com/cantledb/cantle/storage"

// Rester is an operator that can let go, between two rows, of what it would find
// again: iterators and the blocks and files that they hold. What it returned before
// is not valid any more; the next row is the one that would have come. An operator
// that holds on to a row of its input is no Rester, or copies the row.
type Rester interface {
	// Rest returns how many bytes remain beyond the memory budget of the command, and
	// false if something below was at work and rests later: then it is called again.
	Rest() (bytes int, done bool)
}

// Rest lets an operator rest if it can.
func Rest(op Operator) (bytes int, done bool) {
	if r, ok := op.(Rester); ok {
		return r.Rest()
	}
	return 0, true
}

// restAll is Rest of several.
func restAll(ops []Operator) (bytes int, done bool) {
	done = true
	for _, op := range ops {
		n, ok := Rest(op)
		bytes, done = bytes+n, done && ok
	}
	return bytes, done
}

// rest is where a scan goes on after a rest: what an iterator that stood on an entry
// has not delivered of its range.
func rest(it storage.Iterator, of storage.Range, reverse bool) storage.Range {
	key := it.Key()
	if reverse {
		return storage.Range{Start: of.Start, End: append([]byte(nil), key...)}
	}
	return storage.Range{Start: append(append(make([]byte, 0, len(key)+1), key...), 0), End: of.End}
}

func (s *skip) Rest() (int, bool)       { return Rest(s.in) }
func (l *limit) Rest() (int, bool)      { return Rest(l.in) }
func (r *returned) Rest() (int, bool)   { return Rest(r.in) }
func (p *projection) Rest() (int, bool) { p.buf = nil; return Rest(p.in) }
func (k *returnKey) Rest() (int, bool)  { return Rest(k.in) }
func (k *recordID) Rest() (int, bool)   { k.buf = nil; return Rest(k.in) }
func (k *keyed) Rest() (int, bool)      { return Rest(k.in) }

func (c *concat) Rest() (int, bool) { return restAll(c.in[c.at:]) }

func (p *pointRead) Rest() (int, bool) { p.buf = nil; return 0, true }

func (s *recordScan) Rest() (int, bool) {
	if s.it != nil {
		s.again, s.resume = rest(s.it, s.current, s.node.Reverse), true
		if s.sought { // not delivered yet
			s.again.Start, s.sought = append([]byte(nil), s.it.Key()...), false
		}
		s.it.Close()
		s.it = nil
	}
	return 0, true
}

func (s *indexScan) Rest() (int, bool) {
	if s.it != nil {
		s.again, s.resume = rest(s.it, s.current, s.node.Reverse), true
		s.it.Close()
		s.it = nil
	}
	s.doc = nil
	return 0, true
}

func (f *fetch) Rest() (int, bool) {
	n, done := Rest(f.in)
	f.buf = nil
	if a := f.ahead; a != nil {
		n += a.page.bytes()
	}
	return n, done
}

func (w *watched) Rest() (int, bool) {
	n, done := Rest(w.op)
	return n + w.kept.bytes(), done
}

func (m *merge) Rest() (int, bool) {
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
	below, done := restAll(m.in)
	return n + below, done
}
