package backup

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cantledb/cantle/storage"
)

// chain returns the segments, in order and without a gap, whose writes a restore of the base b replays.
func (t *Timeline) chain(b *Base) (out []*Segment) {
	for _, s := range t.Segments {
		if len(out) == 0 && s.First <= b.From && b.From < s.Next || len(out) > 0 && s.First == out[len(out)-1].Next {
			if t.unusable[t.segmentPath(s)] {
				return out
			}
			out = append(out, s)
		}
	}
	return out
}

// segmentPath returns the name of the file of a segment in the archive.
func (t *Timeline) segmentPath(s *Segment) string { return t.rel(logName, s.Name) }

// lose records that a file is missing or damaged.
func (t *Timeline) lose(path string) {
	if t.unusable == nil {
		t.unusable = map[string]bool{}
	}
	t.unusable[path] = true
}

// isUsable reports whether no file of a base is in unusable.
func (t *Timeline) isUsable(b *Base) bool {
	return t.unusable == nil || !slices.ContainsFunc(b.Files, func(f File) bool { return t.unusable[t.path(b, &f)] })
}

// span returns the moments to which the base b can be restored: from its own to the end of its chain of segments.
// ok is false if there is none, because segments are missing or a file of the base is unusable.
func (t *Timeline) span(b *Base) (s Span, ok bool) {
	chain := t.chain(b)
	if len(chain) == 0 || !t.isUsable(b) {
		return Span{}, false
	}
	s = Span{b.Time, chain[len(chain)-1].Time}
	return s, s.From <= s.To
}

func (t *Timeline) restorable(b *Base) bool {
	_, ok := t.span(b)
	return ok
}

// Covered returns the spans of moments to which the timeline can be restored, in order; overlapping ones are
// joined.
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

// ErrNotCovered: the backup folder has no base and segments with which the state at a moment can be restored.
var ErrNotCovered = errors.New("no backup covers this moment")

// Plan is a planned restore: its moment, and the base and the segments that it needs.
type Plan struct {
	At       storage.Timestamp
	Base     *Base
	timeline *Timeline
	segments []*Segment
}

// Find plans the restore of the moment at, 0 for the newest one: from the newest base at or before it, in the
// newest timeline that covers it. Errors: ErrNotCovered, with a list of the covered moments in its text.
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
		return nil, fmt.Errorf("%w: the folder %s has no complete backup", ErrNotCovered, f.Location())
	default:
		return nil, fmt.Errorf("%w, %s; the folder %s has:%s", ErrNotCovered, MomentText(at), f.Location(), text)
	}
}

// MomentText formats a moment as a time in UTC and as a timestamp, each of which the flag --at accepts.
func MomentText(ts storage.Timestamp) string {
	return fmt.Sprintf("%s (%d,%d)", time.Unix(int64(ts.Seconds()), 0).UTC().Format(time.RFC3339), ts.Seconds(), ts.Increment())
}
