package backup

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cantledb/cantle/storage"
)

// chain are the segments without a gap in which the writes behind a base are.
func (t *Timeline) chain(b *Base) (out []*Segment) {
	for _, s := range t.Segments {
		switch {
		case len(out) == 0 && s.First <= b.From && b.From < s.Next:
			out = append(out, s)
		case len(out) > 0 && s.First == out[len(out)-1].Next:
			out = append(out, s)
		}
	}
	return out
}

// span are the moments that a base can be brought to; ok is false if there is none, as the
// log that belongs to it is lost.
func (t *Timeline) span(b *Base) (s Span, ok bool) {
	chain := t.chain(b)
	if len(chain) == 0 {
		return Span{}, false
	}
	s = Span{b.Time, chain[len(chain)-1].Time}
	return s, s.From <= s.To
}

func (t *Timeline) reaches(b *Base) bool {
	_, ok := t.span(b)
	return ok
}

// Covered are the moments that can be restored, in order.
func (t *Timeline) Covered() (out []Span) {
	for _, b := range t.Bases {
		s, ok := t.span(b)
		if !ok {
			continue
		}
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// ErrNotCovered: there is no way to the state at a moment.
var ErrNotCovered = errors.New("no backup covers this moment")

// Plan is how a moment is restored.
type Plan struct {
	At       storage.Timestamp
	Base     *Base
	timeline *Timeline
	segments []*Segment
}

// Find finds the way to a moment, 0 for the newest there is: from the newest base before it,
// in the newest timeline that has it. Errors: ErrNotCovered, which says what is.
func (f *Folder) Find(at storage.Timestamp) (*Plan, error) {
	for _, t := range slices.Backward(f.Timelines) {
		moment := at
		if moment == 0 {
			moment = t.end()
		}
		for _, b := range slices.Backward(t.Bases) {
			if s, ok := t.span(b); ok && s.Holds(moment) {
				return &Plan{At: moment, Base: b, timeline: t, segments: t.chain(b)}, nil
			}
		}
	}
	text := ""
	for _, t := range f.Timelines {
		for _, s := range t.Covered() {
			text += fmt.Sprintf("\n  from %s to %s", MomentText(s.From), MomentText(s.To))
		}
	}
	switch {
	case text == "":
		return nil, fmt.Errorf("%w: the folder %s has no complete backup", ErrNotCovered, f.Dir)
	default:
		return nil, fmt.Errorf("%w, %s; the folder %s has:%s", ErrNotCovered, MomentText(at), f.Dir, text)
	}
}

// MomentText prints a moment as people and --at read it.
func MomentText(ts storage.Timestamp) string {
	return fmt.Sprintf("%s (%d,%d)", time.Unix(int64(ts.Seconds()), 0).UTC().Format(time.RFC3339), ts.Seconds(), ts.Increment())
}
