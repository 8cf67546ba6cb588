package backup

import "time"

// idleEvery is the interval of segments while nothing is written: the moments that they add have the same state.
const idleEvery = time.Minute

// idleness has the position and the time of the last segment of a server, so that a server without writes does not write one every second.
type idleness struct {
	marked uint64 // the sequence number after the last mark
	at     time.Time
}

// skips reports whether nothing was written between the last mark and the one at the sequence numbers from before to
// below next, and the last segment is recent.
func (i *idleness) skips(before, next uint64, now func() time.Time) bool {
	if i == nil || i.marked != before || now().Sub(i.at) >= idleEvery {
		return false
	}
	i.marked = next
	return true
}

// shipped records a segment that ends at the mark before the sequence number next.
func (i *idleness) shipped(next uint64, now func() time.Time) {
	if i != nil {
		i.marked, i.at = next, now()
	}
}
