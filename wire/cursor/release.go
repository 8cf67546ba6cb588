package cursor

// Released is the result of Registry.Release.
type Released uint8

// The results.
const (
	ReleasedMemory Released = iota
	NoSuchCursor
	InUse // by a command, or its source was still at work
)

// Release parks an idle cursor, as the registry does with the least recently used ones: the source releases what it can
// read again, and opens it anew with the next getMore.
func (r *Registry) Release(id ID) Released {
	r.mu.Lock()
	c := r.cursors[id]
	switch {
	case c == nil:
		r.mu.Unlock()
		return NoSuchCursor
	case c.pinned:
		r.mu.Unlock()
		return InUse
	case c.holder == nil || c.inWarm == nil: // nothing to release, or parked already
		r.mu.Unlock()
		return ReleasedMemory
	}
	r.budget.removeWarm(c)
	r.mu.Unlock()
	if done, ok := r.parkOne(c); !ok || !done {
		return InUse
	}
	return ReleasedMemory
}
