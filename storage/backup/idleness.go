package backup

import "time"

// idleEvery is the interval of segments while nothing is written: the moments that they add have the same state.
const idleEvery = time.Minute

// idleness has the position and the time of the last segment of a server, so that a server without writes neither
// writes one every second nor commits a mark for it: then all that it has acknowledged is in the last segment, with the
// newest timestamp that clients have from it.
type idleness struct {
	marked uint64 // the sequence number after the mark at the end of the segment
	at     time.Time
}

// skips reports whether nothing was written since the last segment, which is recent; written is the sequence number
// after the last write.
func (i *idleness) skips(written uint64, now func() time.Time) bool {
	return i != nil && i.marked == written && now().Sub(i.at) < idleEvery
}

// shipped records a segment that ends at the mark before the sequence number next.
func (i *idleness) shipped(next uint64, now func() time.Time) {
	if i != nil {
		i.marked, i.at = next, now()
	}
}
