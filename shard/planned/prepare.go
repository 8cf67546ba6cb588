package planned

import (
	"slices"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// PreparedMax is the maximum number of prepared throughputs of a collection or database.
const PreparedMax = 16

// SplitAhead is the time before the beginning of prepared throughput from which partitions are split, unless a command
// has another one.
const SplitAhead = time.Hour

// Prepare returns p with one more prepared throughput, in place of one with the same From. If that one is running, the
// new one runs in its place: the RU/s that follow it remain, and changed is true.
// Errors: BadValue (2) if its times are in the wrong order or have passed, if it overlaps another one, or if there are
// too many.
func Prepare(p *catalog.Planned, x catalog.Prepared, now time.Time) (next *catalog.Planned, changed bool, err error) {
	switch {
	case !x.From.Before(x.To):
		return nil, false, mongoerr.New(mongoerr.BadValue, "'to' must be after 'from'")
	case !now.Before(x.To):
		return nil, false, mongoerr.New(mongoerr.BadValue, "'to' has passed: it is %s", text(now))
	case x.SplitFrom.After(x.From):
		return nil, false, mongoerr.New(mongoerr.BadValue, "'splitFrom' must not be after 'from'")
	}
	next = &catalog.Planned{}
	if p != nil {
		next.Schedule, next.Prepared = p.Schedule, slices.Clone(p.Prepared)
	}
	if i := at(next, x.From); i >= 0 {
		x.Running, x.Former = next.Prepared[i].Running, next.Prepared[i].Former
		next.Prepared = slices.Delete(next.Prepared, i, i+1)
	}
	for _, other := range next.Prepared {
		if x.From.Before(other.To) && other.From.Before(x.To) {
			return nil, false, mongoerr.New(mongoerr.BadValue, "%d RU/s are prepared from %s to %s: cancel that first, or prepare it with the same 'from'",
				other.RU, text(other.From), text(other.To))
		}
	}
	if len(next.Prepared) >= PreparedMax {
		return nil, false, mongoerr.New(mongoerr.BadValue, "throughput can be prepared for at most %d times", PreparedMax)
	}
	next.Prepared = append(next.Prepared, x)
	slices.SortFunc(next.Prepared, func(a, b catalog.Prepared) int { return a.From.Compare(b.From) })
	return next, x.Running, nil
}

// Cancel returns p without the prepared throughput that begins at a time, or without any if from is the zero time, and the
// RU/s that hold then. rus are those that hold before.
// Errors: BadValue (2) if there is none.
func Cancel(rus int64, p *catalog.Planned, from time.Time) (int64, *catalog.Planned, error) {
	next := &catalog.Planned{}
	if p != nil {
		next.Schedule = p.Schedule
		for _, x := range p.Prepared {
			switch {
			case !from.IsZero() && !x.From.Equal(from):
				next.Prepared = append(next.Prepared, x)
			case x.Running:
				rus = x.Former
			}
		}
	}
	if p == nil || len(next.Prepared) == len(p.Prepared) {
		if from.IsZero() {
			return 0, nil, mongoerr.New(mongoerr.BadValue, "no throughput is prepared")
		}
		return 0, nil, mongoerr.New(mongoerr.BadValue, "no throughput is prepared from %s", text(from))
	}
	return rus, orNil(next), nil
}

// Overridden returns what remains planned after a command that sets the RU/s: prepared throughput that runs ends.
func Overridden(p *catalog.Planned) *catalog.Planned {
	if p == nil || running(p) < 0 {
		return p
	}
	next := &catalog.Planned{Schedule: p.Schedule, Prepared: slices.Clone(p.Prepared)}
	i := running(next)
	next.Prepared = slices.Delete(next.Prepared, i, i+1)
	return orNil(next)
}

// at returns the index of the prepared throughput that begins at a time; -1 for none.
func at(p *catalog.Planned, from time.Time) int {
	return slices.IndexFunc(p.Prepared, func(x catalog.Prepared) bool { return x.From.Equal(from) })
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }
