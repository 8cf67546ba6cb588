package planned

import (
	"slices"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
)

// Advance returns the RU/s that hold at a time, and what is then still planned; nil for nothing. rus are the RU/s that
// hold before. If nothing is due, it returns its arguments. p is not changed and may be nil.
func Advance(rus int64, p *catalog.Planned, now time.Time) (int64, *catalog.Planned) {
	if p == nil || now.Before(Next(p)) {
		return rus, p
	}
	next := &catalog.Planned{Prepared: slices.Clone(p.Prepared), Schedule: p.Schedule}
	base := &rus // the RU/s that the schedule changes
	if i := running(next); i >= 0 {
		base = &next.Prepared[i].Former
	}
	if row, due, ok := newestDue(p.Schedule, now); ok && due.After(p.Schedule.Done) {
		*base, next.Schedule.Done = row.RU, due
	}
	if i := running(next); i >= 0 && !now.Before(next.Prepared[i].To) {
		rus = next.Prepared[i].Former
	}
	next.Prepared = slices.DeleteFunc(next.Prepared, func(x catalog.Prepared) bool { return !now.Before(x.To) })
	if i := 0; running(next) < 0 && len(next.Prepared) > 0 && !now.Before(next.Prepared[i].From) {
		x := &next.Prepared[i]
		x.Running, x.Former, rus = true, rus, x.RU
	}
	return rus, orNil(next)
}

// Next returns a time before which Advance changes nothing; the far future if nothing is planned.
func Next(p *catalog.Planned) time.Time {
	next := never
	if p == nil {
		return next
	}
	for _, x := range p.Prepared {
		at := x.From
		if x.Running {
			at = x.To
		}
		if at.Before(next) {
			next = at
		}
	}
	if rows, err := parse(p.Schedule); err == nil {
		for _, row := range rows {
			if at := row.Next(p.Schedule.Done); !at.IsZero() && at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// never is later than any time of a clock.
var never = time.Unix(1<<40, 0).UTC()

// Needed returns the highest RU/s for which partitions are needed at a time, beside those that hold; 0 for none.
func Needed(p *catalog.Planned, now time.Time) (rus int64) {
	if p == nil {
		return 0
	}
	for _, x := range p.Prepared {
		if !now.Before(x.SplitFrom) && now.Before(x.To) {
			rus = max(rus, x.RU)
		}
	}
	return rus
}

// running returns the index of the prepared throughput that runs; -1 for none.
func running(p *catalog.Planned) int {
	return slices.IndexFunc(p.Prepared, func(x catalog.Prepared) bool { return x.Running })
}

// orNil returns p, or nil if nothing is planned.
func orNil(p *catalog.Planned) *catalog.Planned {
	if p.IsEmpty() {
		return nil
	}
	return p
}
