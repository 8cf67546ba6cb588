package writebuf

import (
	"bytes"
	"context"

	"github.com/cantledb/cantle/storage"
)

// Merge returns an iterator over the entries of base, an iterator of a snapshot, with the writes of a layer over
// them. base iterates over r in the direction of reverse, and is closed together with the result. The layer is not
// empty.
func Merge(base storage.Iterator, l Layer, r storage.Range, reverse bool) storage.Iterator {
	resumed, _ := base.(storage.ContextSetter)
	return &merge{base: base, resumed: resumed, layer: l, b: &l.b.writes, r: storage.Range{Start: bytes.Clone(r.Start), End: bytes.Clone(r.End)}, reverse: reverse}
}

// merge iterates over a snapshot and a buffer, both in key order. If both have a key, it returns the buffer's
// value, or skips a deleted key.
type merge struct {
	base           storage.Iterator
	resumed        storage.ContextSetter // base, if it implements this interface
	layer          Layer
	b              *sortedEntries
	r              storage.Range
	at             entryPos // position of key in the buffer, valid while moves equals b.moves
	moves          uint64   // see sorted
	key, value     []byte   // the buffer's current entry; its memory in the arena does not change while b does
	reverse        bool
	started        bool
	baseOK, bufOK  bool // the side has a current entry
	onBase, onBuf  bool // whether the current entry comes from this side, or hides an entry of it
	closed, failed bool
}

// SetContext see storage.ContextSetter.
func (m *merge) SetContext(ctx context.Context) {
	if m.resumed != nil {
		m.resumed.SetContext(ctx)
	}
}

func (m *merge) Next() bool {
	if m.closed || m.failed {
		return false
	}
	if !m.started {
		m.started = true
		m.baseOK = m.base.Next()
		m.firstBuf()
	} else {
		m.advance()
	}
	return m.settle()
}

func (m *merge) Seek(key []byte) bool {
	if m.closed || m.failed {
		return false
	}
	if m.onBase || m.onBuf {
		if c := bytes.Compare(m.Key(), key); c == 0 || (c > 0) != m.reverse {
			return true
		}
	} else if m.started { // already past the end
		return false
	}
	m.baseOK = (!m.started || m.baseOK) && m.base.Seek(key)
	if !m.started || m.bufOK {
		if !m.started {
			m.firstBuf()
		}
		if m.bufOK && m.before(m.key, key) {
			m.seekBuf(key)
		}
	}
	m.started = true
	return m.settle()
}

// advance moves each side that has the current key to its next entry.
func (m *merge) advance() {
	if m.onBase {
		m.baseOK = m.base.Next()
	}
	if m.onBuf {
		m.stepBuf()
	}
	m.onBase, m.onBuf = false, false
}

// settle finds the current entry, skipping deletions.
func (m *merge) settle() bool {
	for {
		m.onBase, m.onBuf = m.baseOK, m.bufOK
		if m.baseOK && m.bufOK {
			c := bytes.Compare(m.base.Key(), m.key)
			if m.reverse {
				c = -c
			}
			m.onBase, m.onBuf = c <= 0, c >= 0
		}
		if !m.baseOK && m.base.Err() != nil {
			m.failed, m.onBase, m.onBuf = true, false, false
			return false
		}
		if !m.onBuf {
			return m.onBase
		}
		if m.value != nil {
			return true
		}
		m.advance()
	}
}

func (m *merge) firstBuf() {
	if !m.reverse {
		m.at, _ = m.b.find(m.r.Start)
	} else if m.r.End == nil {
		m.at = m.b.prev(entryPos{len(m.b.blocks), 0})
	} else {
		m.at, _ = m.b.find(m.r.End)
		m.at = m.b.prev(m.at)
	}
	m.checkBuf()
}

func (m *merge) seekBuf(key []byte) {
	var ok bool
	m.at, ok = m.b.find(key)
	if m.reverse && !ok {
		m.at = m.b.prev(m.at)
	}
	m.checkBuf()
}

func (m *merge) stepBuf() {
	if m.moves != m.b.moves {
		p, ok := m.b.find(m.key)
		if m.at = p; !ok { // a rollback removed key: p is that of the next greater key
			if m.reverse {
				m.at = m.b.prev(p)
			}
			m.checkBuf()
			return
		}
	}
	m.step()
	m.checkBuf()
}

func (m *merge) step() {
	if m.reverse {
		m.at = m.b.prev(m.at)
	} else {
		m.at = m.b.next(m.at)
	}
}

// checkBuf moves to the first entry of the buffer in the range, from at on, that the layer includes.
func (m *merge) checkBuf() {
	m.moves = m.b.moves
	for ; m.b.valid(m.at); m.step() {
		e := m.b.entry(m.at)
		if !m.r.Contains(e.key) {
			break
		}
		if v, ok := m.layer.version(e); ok {
			m.key, m.value, m.bufOK = e.key, v, true
			return
		}
	}
	m.key, m.value, m.bufOK = nil, nil, false
}

// before reports whether key a comes before key b in the direction of the iterator.
func (m *merge) before(a, b []byte) bool {
	c := bytes.Compare(a, b)
	return c != 0 && (c < 0) != m.reverse
}

func (m *merge) Key() []byte {
	if m.onBuf {
		return m.key
	}
	if m.onBase {
		return m.base.Key()
	}
	return nil
}

func (m *merge) Value() []byte {
	if m.onBuf {
		return m.value
	}
	if m.onBase {
		return m.base.Value()
	}
	return nil
}

func (m *merge) Err() error { return m.base.Err() }

func (m *merge) Close() {
	if !m.closed {
		m.closed, m.onBase, m.onBuf = true, false, false
		m.base.Close()
	}
}
