package histories

import "fmt"

// Stream is the recorded result of a change stream or a tailable cursor, over all its resumes. Each change must
// occur once, and the changes of one client in their order. If a change was sent after another one was acknowledged,
// it must come after that one.
type Stream struct {
	Changes []Change // those that match its pipeline
	Events  []Event
	// Sent and Back are the times before and after the stream was opened first. The stream must contain no change
	// that was acknowledged before Sent, and every change that was sent after Back.
	Sent, Back int64
	Complete   bool // the stream was read to its end, after the last change
}

// Event is a change in a stream.
type Event struct {
	Key, Version int // version 0 = the document was deleted
	Time         uint64
	// Before and After are the versions of the document in the event's pre-image and post-image, if it has them.
	// Looked means that After was looked up after the change, so it may be a later version, or 0 if the document no
	// longer exists.
	Before, After     int
	HasBefore, Looked bool
	HasAfter          bool
}

// Judge returns the violations.
func (s *Stream) Judge() []string {
	var wrong found
	chains := chainsOf(s.Changes)
	owners := chains.owners()
	at := map[int]int{} // the next change of each client
	is := make([]*Change, len(s.Events))
	for i, e := range s.Events {
		client, known := owners[e.Key]
		if !known {
			wrong.bad("event %d is about document %d, which was never written", i, e.Key)
			continue
		}
		next, begun := at[client]
		n, problem := s.next(chains[client], e, next, begun)
		if problem != "" {
			wrong.bad("event %d, client %d, %+v: %s", i, client, e, problem)
		}
		if n >= 0 {
			at[client] = n + 1
			is[i] = &chains[client][n]
			s.images(&wrong, i, e, chains[client], n)
		}
	}
	s.ends(&wrong, chains, at)
	s.order(&wrong, is)
	return wrong
}

// matches reports whether the event can be the event of a change: the same document, and the same version or a
// deletion.
func (e Event) matches(x Change) bool {
	return e.Key == x.Key && (x.Removes && e.Version == 0 || !x.Removes && e.Version == x.Version)
}

// next returns the index of the change, in a client's chain, to which an event belongs; normally this is next. It
// returns -1 and the problem if there is none. begun means that the stream has had an event of this client before.
func (s *Stream) next(chain []Change, e Event, next int, begun bool) (n int, problem string) {
	least, most := next, next
	if !begun {
		least, most = span(chain, s.Sent, s.Back)
	}
	for n := least; n <= most && n < len(chain); n++ {
		if e.matches(chain[n]) {
			return n, ""
		}
	}
	if !begun {
		next = most
	}
	for n := next; n < len(chain); n++ {
		if e.matches(chain[n]) {
			return n, fmt.Sprintf("lost: %d changes before it did not come", n-next)
		}
	}
	for n := min(next, len(chain)) - 1; n >= 0; n-- {
		if e.matches(chain[n]) {
			if !begun {
				return -1, "from the past: it was acknowledged before the stream was opened"
			}
			return -1, "twice or out of order: later ones came before"
		}
	}
	return -1, "nobody made this change"
}

// ends adds a violation for each missing change.
func (s *Stream) ends(wrong *found, chains chains, at map[int]int) {
	for _, client := range chains.clients() {
		chain := chains[client]
		n, begun := at[client]
		if !begun {
			_, n = span(chain, s.Sent, s.Back)
		}
		switch {
		case n >= len(chain):
		case begun && between(chain, n) && s.Complete:
			wrong.bad("half a transaction: version %d of client %d came, and version %d did not", chain[n-1].Version, client, chain[n].Version)
		case s.Complete && chain[n].End != 0:
			wrong.bad("lost: version %d of document %d of client %d did not come, nor any of this client behind it", chain[n].Version, chain[n].Key, client)
		}
	}
}

// order checks that the times of events never decrease, that the events of a transaction are contiguous and have one
// time, and that no event comes before one on which it depends.
func (s *Stream) order(wrong *found, is []*Change) {
	var earliest *Change // of the later events, the change that was acknowledged first
	for i := len(is) - 1; i >= 0; i-- {
		x := is[i]
		if x == nil {
			continue
		}
		if earliest != nil && x.Begin > earliest.End {
			wrong.bad("out of order: version %d of document %d came before version %d of document %d, which was acknowledged before it was sent", x.Version, x.Key, earliest.Version, earliest.Key)
			break
		}
		if x.End != 0 && (earliest == nil || x.End < earliest.End) {
			earliest = x
		}
	}
	for i := 1; i < len(s.Events); i++ {
		a, b := s.Events[i-1], s.Events[i]
		if a.Time > b.Time {
			wrong.bad("out of order: event %d is of time %d and event %d of %d", i-1, a.Time, i, b.Time)
		}
		x, y := is[i-1], is[i]
		if x == nil || y == nil || x.Together == 0 {
			continue
		}
		if same := x.Together == y.Together; same && a.Time != b.Time {
			wrong.bad("half a transaction: versions %d and %d have different times", x.Version, y.Version)
		}
		if x.Together == y.Together {
			continue
		}
		for j := i + 1; j < min(len(is), i+50); j++ {
			if is[j] != nil && is[j].Together == x.Together {
				wrong.bad("half a transaction: version %d came between versions %d and %d", y.Version, x.Version, is[j].Version)
			}
		}
	}
}

// images checks that the pre-image and the post-image of an event agree with the document's changes.
func (s *Stream) images(wrong *found, i int, e Event, chain []Change, n int) {
	before := 0
	for k := n - 1; k >= 0; k-- {
		if chain[k].Key == e.Key {
			if !chain[k].Removes {
				before = chain[k].Version
			}
			break
		}
	}
	if e.HasBefore && e.Before != before {
		wrong.bad("image: event %d of version %d of document %d has version %d before it, which was %d", i, e.Version, e.Key, e.Before, before)
	}
	switch {
	case !e.HasAfter:
	case e.Looked:
		if e.After == e.Version || e.After == 0 && later(chain[n+1:], e.Key, 0) || e.After != 0 && later(chain[n+1:], e.Key, e.After) {
			return
		}
		wrong.bad("image: event %d of version %d of document %d was looked up as version %d", i, e.Version, e.Key, e.After)
	case e.After != e.Version:
		wrong.bad("image: event %d of version %d of document %d has version %d behind it", i, e.Version, e.Key, e.After)
	}
}

// later reports whether a document gets a version (0 means that it is deleted) in the changes of a chain.
func later(chain []Change, key, version int) bool {
	for _, x := range chain {
		if x.Key == key && (version == 0 && x.Removes || version != 0 && !x.Removes && x.Version == version) {
			return true
		}
	}
	return false
}
