package changestream

import (
	"context"
	"slices"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
)

// question is the condition that the Hub evaluates for waiting streams: whether a record belongs to
// their partition and its event passes their filter. Immutable.
type question struct {
	filter    *Filter      // nil = every event passes
	partition *shard.Range // nil = everywhere
	form      form
	key       string // equal for equal questions
}

// form holds the settings that determine the contents of a record's event, for a filter.
type form struct {
	full      FullDocument
	before    Before
	described bool
	raw       bool // RawUpdates
}

// newQuestion makes the question of a stream; nil if every record passes.
func newQuestion(s *Spec) *question {
	q := &question{filter: s.Filter, form: form{s.FullDocument, s.Before, s.Described, s.RawUpdates}}
	if r := s.Resume; r != nil && r.Partition {
		q.partition = &r.Range
	}
	if q.filter == nil && q.partition == nil {
		return nil
	}
	q.key = string([]byte{byte(s.FullDocument), byte(s.Before), boolByte(s.Described), boolByte(s.RawUpdates), boolByte(q.partition != nil)})
	if q.partition != nil {
		q.key += string(Token{Partition: true, Range: *q.partition}.encode(nil))
	}
	if q.filter != nil {
		q.key += q.filter.key
	}
	return q
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// sharedFilter evaluates one question for all waiting streams that have it and watch the same collections.
type sharedFilter struct {
	question *question
	watched  *watchSet
	// Guarded by Hub.mu.
	members int
	latest  storage.Timestamp // no member waits for records after a later time
	// until and hits are of the current pass over the log; only the goroutine of the Hub that reads the log uses them.
	until storage.Timestamp
	hits  []storage.Timestamp // of records that pass, ascending; one after until is enough
}

// hit returns the earliest time later than after at which a waiter must wake: the time of a record that passes the
// filter, or of a command. The times of commands are ascending.
func (s *sharedFilter) hit(after storage.Timestamp, commands []storage.Timestamp) (at storage.Timestamp, ok bool) {
	for _, list := range [...][]storage.Timestamp{s.hits, commands} {
		i := sort.Search(len(list), func(i int) bool { return list[i] > after })
		if i < len(list) && (!ok || list[i] < at) {
			at, ok = list[i], true
		}
	}
	return at, ok
}

// joinFilter adds a waiter with a question to the shared filter of that question. The caller holds mu.
func (h *Hub) joinFilter(w *waiter) {
	q := w.interest.question
	if q == nil || w.interest.all {
		return
	}
	list := h.filters[q.key]
	i := slices.IndexFunc(list, func(s *sharedFilter) bool { return s.watched.same(w.interest.watched) })
	if i < 0 {
		i = len(list)
		list = append(list, &sharedFilter{question: q, watched: w.interest.watched})
		h.filters[q.key] = list
	}
	s := list[i]
	s.members++
	s.latest = max(s.latest, w.after)
	w.filter, w.interest.watched = s, s.watched
}

// leaveFilter removes a waiter from its shared filter. The caller holds mu.
func (h *Hub) leaveFilter(w *waiter) {
	s := w.filter
	if s == nil {
		return
	}
	if s.members--; s.members > 0 {
		return
	}
	list := slices.DeleteFunc(h.filters[s.question.key], func(x *sharedFilter) bool { return x == s })
	if len(list) == 0 {
		delete(h.filters, s.question.key)
	} else {
		h.filters[s.question.key] = list
	}
}

// logPass is one pass over the log for all shared filters. For each record, each filter is evaluated at most once, and
// the event of each form is made once, or again if filters have different names of its collection.
type logPass struct {
	env     *mql.Env
	filters []*sharedFilter
	scratch expr.Scratch
	events  []formEvent
}

// formEvent is the event of the current record in one form.
type formEvent struct {
	form   form
	of     *entry // nil = not made
	event  bson.Raw
	stream Stream // makes the event
}

// beginPass prepares l for the next pass: it collects the filters and clears their hits.
func (h *Hub) beginPass(ctx context.Context, l *logPass) {
	if l.env == nil {
		l.env = mql.NewEnv(ctx)
	}
	l.filters = l.filters[:0]
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil { // another goroutine reads by now
		return
	}
	h.round++
	for _, list := range h.filters {
		for _, s := range list {
			s.until, s.hits = s.latest, s.hits[:0]
			l.filters = append(l.filters, s)
		}
	}
}

// evaluate evaluates the shared filters for one record of the log, and adds its time to the hits of the filters that
// it passes. The record is not kept.
func (l *logPass) evaluate(g recordHeader, own storage.Timestamp, enc []byte) {
	if g.op == changelog.Command || g.op == changelog.Moved {
		return
	}
	var rec changelog.Record
	decoded := false
	for _, s := range l.filters {
		if n := len(s.hits); n > 0 && s.hits[n-1] > s.until {
			continue // all members wake already
		}
		t, ok := s.watched.byID[g.id]
		if !ok || !t.ops.has(g.op) {
			continue
		}
		if !decoded {
			var err error
			if rec, err = changelog.Decode(enc); err != nil {
				return
			}
			if decoded = true; rec.Multi {
				own = g.ts
			}
			for i := range l.events {
				l.events[i].of = nil
			}
		}
		if l.passes(s.question, t.entry, &rec, own) {
			s.hits = append(s.hits, g.ts)
		}
	}
}

// passes reports whether a record passes a question. If that requires further reads, or fails, the record passes: the
// stream then evaluates it itself.
func (l *logPass) passes(q *question, e *entry, rec *changelog.Record, ts storage.Timestamp) bool {
	if q.partition != nil && !q.partition.Owns(rec.Position, rec.ID) {
		return false
	}
	f := q.filter
	if f == nil {
		return true
	}
	form := q.form
	switch {
	case form.before == BeforeRequired && rec.Pre == nil && rec.Op != changelog.Insert:
		return true
	case rec.Op != changelog.Update:
	case form.full == FullRequired && rec.Doc == nil:
		return true
	case form.full == FullLookup:
		if f.images {
			return true
		}
		form.full = FullDefault
	}
	event, err := l.event(form, e, rec, ts)
	if err != nil {
		return true
	}
	l.env.Collation = f.collation
	ok, err := f.passes(l.env, event, &l.scratch)
	return ok || err != nil
}

// event makes the event of the current record in a form, or returns it if it was made before; its token differs from
// that of the stream.
func (l *logPass) event(f form, e *entry, rec *changelog.Record, ts storage.Timestamp) (bson.Raw, error) {
	i := slices.IndexFunc(l.events, func(d formEvent) bool { return d.form == f })
	if i < 0 {
		i = len(l.events)
		l.events = append(l.events, formEvent{form: f, stream: Stream{spec: &Spec{FullDocument: f.full, Before: f.before, Described: f.described, RawUpdates: f.raw}}})
	}
	d := &l.events[i]
	// Two filters may have the entry of a collection at different times, with different names: then the event is made
	// again.
	if d.of != nil && d.of.same(e) {
		return d.event, nil
	}
	d.stream.time = ts
	event, err := d.stream.documentEvent(l.env, e, rec, Token{Time: ts})
	if err == nil {
		d.of, d.event = e, event
	}
	return event, err
}
