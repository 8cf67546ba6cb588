package planned

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// The bounds of a schedule.
const (
	RowsMax      = 32
	cronBytesMax = 128
)

// lookBack is the longest time since a row was due that newestDue finds: over a leap day.
const lookBack = 4*365*24*time.Hour + 48*time.Hour

// parser reads expressions of five fields.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Scheduled returns p with another schedule; without rows it has none. The row that was due last takes effect at the next
// Advance.
// Errors: BadValue (2) for an expression that cannot be read or is never due, an unknown time zone, too many rows.
func Scheduled(p *catalog.Planned, zone string, rows []catalog.ScheduleRow, now time.Time) (*catalog.Planned, error) {
	next := &catalog.Planned{}
	if p != nil {
		next.Prepared = p.Prepared
	}
	if len(rows) == 0 {
		return orNil(next), nil
	}
	if len(rows) > RowsMax {
		return nil, mongoerr.New(mongoerr.BadValue, "a schedule has at most %d rows", RowsMax)
	}
	next.Schedule = catalog.Schedule{Zone: zone, Rows: rows, Done: now.Add(-lookBack)}
	times, err := parse(next.Schedule)
	if err != nil {
		return nil, mongoerr.New(mongoerr.BadValue, "%s", err)
	}
	for i, t := range times {
		if t.Next(now).IsZero() {
			return nil, mongoerr.New(mongoerr.BadValue, "the time '%s' never comes", rows[i].Cron)
		}
	}
	if _, _, ok := newestDue(next.Schedule, now); !ok {
		next.Schedule.Done = now
	}
	return next, nil
}

// Due returns the next time of each row of a schedule after a time, the zero time for a row that cannot be read.
func Due(s catalog.Schedule, after time.Time) []time.Time {
	out := make([]time.Time, len(s.Rows))
	rows, err := parse(s)
	if err != nil {
		return out
	}
	for i, row := range rows {
		out[i] = row.Next(after)
	}
	return out
}

// newestDue returns the row that was due last up to a time, and when. Of rows with the same time it returns the last one.
func newestDue(s catalog.Schedule, now time.Time) (row catalog.ScheduleRow, due time.Time, ok bool) {
	rows, err := parse(s)
	if err != nil {
		return row, due, false
	}
	for i, r := range rows {
		if at, found := previous(r, now); found && !at.Before(due) {
			row, due, ok = s.Rows[i], at, true
		}
	}
	return row, due, ok
}

// previous returns the newest time of a row up to now, by bisection: the further back the time, the earlier its next one.
func previous(row *cron.SpecSchedule, now time.Time) (time.Time, bool) {
	due := func(since time.Time) bool {
		at := row.Next(since)
		return !at.IsZero() && !at.After(now)
	}
	lo, hi := now.Add(-lookBack), now
	if !due(lo) {
		return time.Time{}, false
	}
	for hi.Sub(lo) > time.Second {
		if mid := lo.Add(hi.Sub(lo) / 2); due(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return row.Next(lo).UTC(), true
}

// parse reads the rows of a schedule.
func parse(s catalog.Schedule) ([]*cron.SpecSchedule, error) {
	if len(s.Rows) == 0 {
		return nil, nil
	}
	zone, err := zoneOf(s.Zone)
	if err != nil {
		return nil, err
	}
	out := make([]*cron.SpecSchedule, len(s.Rows))
	for i, r := range s.Rows {
		if len(r.Cron) > cronBytesMax || strings.Contains(r.Cron, "=") { // the parser would take NAME=value for a time zone
			return nil, fmt.Errorf("'%.60s' is no cron expression: minute, hour, day of the month, month, day of the week", r.Cron)
		}
		parsed, err := parser.Parse(r.Cron)
		if err != nil {
			return nil, fmt.Errorf("'%s' is no cron expression (minute, hour, day of the month, month, day of the week): %w", r.Cron, err)
		}
		spec, ok := parsed.(*cron.SpecSchedule)
		if !ok {
			return nil, fmt.Errorf("'%s' is no cron expression", r.Cron)
		}
		spec.Location = zone
		out[i] = spec
	}
	return out, nil
}

// zoneOf returns the time zone with an Olson name; UTC for "".
func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("unrecognized time zone identifier: \"%.60s\"", name)
	}
	return zone, nil
}
