package writebuf

// Sizes of an arena's chunks in bytes: the first chunk fits a typical write of one document, the largest bounds
// the memory that a big transaction wastes.
const (
	chunkBytesMin = 4 << 10
	chunkBytesMax = 1 << 20
)

// arena stores copies of byte slices in few large chunks. Copies are not moved or freed before the arena is reset
// or rolled back.
type arena struct {
	chunks [][]byte // chunks[:at] are full, chunks[at] is being filled, the rest are empty
	at     int
	bytes  int // stored
}

// arenaMark records how full an arena was, so that a rollback can free everything stored later.
type arenaMark struct{ at, used, bytes int }

// copy copies b into the arena and returns the copy, with no spare capacity. It never returns nil, because nil is
// a deletion in a Buffer.
func (a *arena) copy(b []byte) []byte {
	if len(a.chunks) == 0 {
		a.chunks = append(a.chunks, make([]byte, 0, max(chunkBytesMin, len(b))))
	}
	c := a.chunks[a.at]
	if cap(c)-len(c) < len(b) {
		c = a.next(len(b))
	}
	n := len(c)
	c = append(c, b...)
	a.chunks[a.at] = c
	a.bytes += len(b)
	return c[n:len(c):len(c)]
}

// next returns an empty chunk for at least n more bytes: one left from earlier use, or a new one.
func (a *arena) next(n int) []byte {
	for i := a.at + 1; i < len(a.chunks); i++ {
		if cap(a.chunks[i]) >= n {
			a.at = i
			return a.chunks[i]
		}
	}
	size := max(n, min(2*cap(a.chunks[a.at]), chunkBytesMax))
	a.chunks = append(a.chunks, make([]byte, 0, size))
	a.at = len(a.chunks) - 1
	return a.chunks[a.at]
}

func (a *arena) mark() arenaMark {
	if len(a.chunks) == 0 {
		return arenaMark{}
	}
	return arenaMark{a.at, len(a.chunks[a.at]), a.bytes}
}

// release makes everything stored after m available again.
func (a *arena) release(m arenaMark) {
	if len(a.chunks) == 0 {
		return
	}
	for i := m.at; i <= a.at; i++ {
		from := 0
		if i == m.at {
			from = m.used
		}
		poison(a.chunks[i][from:])
		a.chunks[i] = a.chunks[i][:from]
	}
	a.at, a.bytes = m.at, m.bytes
}

// reset empties the arena for another transaction, and keeps at most keep bytes of its chunks.
func (a *arena) reset(keep int) {
	a.release(arenaMark{})
	n := 0
	for n < len(a.chunks) && cap(a.chunks[n]) <= keep {
		keep -= cap(a.chunks[n])
		n++
	}
	clear(a.chunks[n:])
	a.chunks = a.chunks[:n]
}
