package planned

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// day is a Monday.
var day = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

func clock(hour, minute int) time.Time {
	return day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

// throughput follows the RU/s of one collection through Advance.
type throughput struct {
	t   *testing.T
	rus int64
	p   *catalog.Planned
}

// at advances to a time and checks the RU/s. A second call changes nothing.
func (x *throughput) at(now time.Time, want int64) {
	x.t.Helper()
	x.rus, x.p = Advance(x.rus, x.p, now)
	if x.rus != want {
		x.t.Errorf("%s: %d RU/s, want %d", now.Format(time.RFC3339), x.rus, want)
	}
	if rus, p := Advance(x.rus, x.p, now); rus != x.rus || p != x.p {
		x.t.Errorf("%s: a second call changes %d %+v to %d %+v", now.Format(time.RFC3339), x.rus, x.p, rus, p)
	}
	if x.p != nil && !now.Before(Next(x.p)) {
		x.t.Errorf("%s: Next is %s", now.Format(time.RFC3339), Next(x.p))
	}
}

func (x *throughput) prepare(rus int64, from, to, now time.Time) {
	x.t.Helper()
	p, runs, err := Prepare(x.p, catalog.Prepared{RU: rus, SplitFrom: from.Add(-SplitAhead), From: from, To: to}, now)
	if err != nil {
		x.t.Fatal(err)
	}
	if x.p = p; runs {
		x.rus = rus
	}
}

func (x *throughput) schedule(zone string, now time.Time, rows ...catalog.ScheduleRow) {
	x.t.Helper()
	p, err := Scheduled(x.p, zone, rows, now)
	if err != nil {
		x.t.Fatal(err)
	}
	x.p = p
}

func TestPreparedRunsInItsTime(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	x.prepare(20000, clock(8, 0), clock(10, 0), clock(1, 0))
	x.prepare(5000, clock(10, 0), clock(11, 0), clock(1, 0))
	x.at(clock(7, 59), 400)
	x.at(clock(8, 0), 20000)
	x.at(clock(7, 0), 20000) // the clock of the next server is behind
	x.at(clock(9, 59), 20000)
	x.at(clock(10, 0), 5000)
	x.at(clock(11, 0), 400)
	if x.p != nil {
		t.Errorf("still planned: %+v", x.p)
	}
}

// What passes while no server runs.
func TestMissedTimes(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	x.prepare(20000, clock(8, 0), clock(10, 0), clock(1, 0))
	x.at(clock(12, 0), 400) // all of it
	if x.p != nil {
		t.Errorf("still planned: %+v", x.p)
	}
	x.prepare(20000, clock(13, 0), clock(14, 0), clock(12, 0))
	x.at(clock(13, 30), 20000) // its beginning
	x.at(clock(40, 0), 400)    // its end

	x.schedule("", clock(40, 0), catalog.ScheduleRow{Cron: "0 8 * * *", RU: 2000}, catalog.ScheduleRow{Cron: "0 20 * * *", RU: 600}, catalog.ScheduleRow{Cron: "0 * * * *", RU: 700})
	x.at(clock(40, 0), 700)         // 16:00 of the next day
	x.at(clock(24*9+20, 59), 700)   // of two rows at the same time, the later
	x.schedule("", clock(24*9, 30)) // no rows
	if x.p != nil {
		t.Errorf("still planned: %+v", x.p)
	}
}

func TestScheduleRows(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	x.schedule("", clock(7, 0), catalog.ScheduleRow{Cron: "0 8 * * 1-5", RU: 20000}, catalog.ScheduleRow{Cron: "0 20 * * 1-5", RU: 2000})
	x.at(clock(7, 0), 2000) // of last Friday
	x.at(clock(8, 0), 20000)
	x.rus = 3000 // a command
	x.at(clock(19, 59), 3000)
	x.at(clock(20, 0), 2000)
	x.at(clock(24*5+9, 0), 2000) // Saturday
	x.at(clock(24*7+8, 0), 20000)
}

// A row that has never been due changes nothing before it is.
func TestScheduleNeverDueYet(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	x.schedule("", now, catalog.ScheduleRow{Cron: "0 0 29 2 *", RU: 900})
	x.at(now, 900) // 2024
	for _, bad := range []string{"0 0 31 2 *", "", "0 8 * *", "0 8 * * 1-5 2026", "60 * * * *", "@daily", "TZ=UTC 0 8 * * *", "CRON_TZ=Asia/Tokyo 0 8 * * *", "* * * * ?=1", "TZ="} {
		if _, err := Scheduled(nil, "", []catalog.ScheduleRow{{Cron: bad, RU: 400}}, now); mongoerr.CodeOf(err) != mongoerr.BadValue {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, zone := range []string{"Local", "Mars/Base", "../etc/passwd", "+01:00"} {
		if _, err := Scheduled(nil, zone, []catalog.ScheduleRow{{Cron: "0 8 * * *", RU: 400}}, now); mongoerr.CodeOf(err) != mongoerr.BadValue {
			t.Errorf("%q: %v", zone, err)
		}
	}
	if _, err := Scheduled(nil, "", make([]catalog.ScheduleRow, RowsMax+1), now); mongoerr.CodeOf(err) != mongoerr.BadValue {
		t.Error(err)
	}
}

// Daylight saving: 8:00 in Berlin is 7:00 UTC in winter and 6:00 in summer; a time that the change skips is due on the
// next day.
func TestScheduleZone(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	now := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	x.schedule("Europe/Berlin", now, catalog.ScheduleRow{Cron: "0 8 * * *", RU: 800}, catalog.ScheduleRow{Cron: "30 2 * * *", RU: 500})
	x.at(now, 800)
	at := func(d, h, m int, want int64) { x.at(time.Date(2026, 3, d, h, m, 0, 0, time.UTC), want) }
	at(28, 1, 29, 800)
	at(28, 1, 30, 500)
	at(28, 7, 0, 800)
	at(29, 5, 59, 800) // 2:30 was skipped
	x.rus = 1000       // a command
	at(29, 6, 0, 800)
	at(30, 0, 30, 500)
	if next := Due(x.p.Schedule, time.Date(2026, 3, 30, 0, 30, 0, 0, time.UTC)); next[0].UTC().Hour() != 6 || next[1].UTC().Day() != 31 {
		t.Error(next)
	}
}

// Rows that become due while prepared throughput runs change the RU/s that follow; a command ends it.
func TestScheduleBesidePrepared(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	x.schedule("", clock(1, 0), catalog.ScheduleRow{Cron: "0 8 * * *", RU: 2000}, catalog.ScheduleRow{Cron: "0 20 * * *", RU: 600})
	x.prepare(20000, clock(7, 0), clock(9, 0), clock(1, 0))
	x.at(clock(1, 0), 600)
	x.at(clock(7, 0), 20000)
	x.at(clock(8, 0), 20000)
	x.at(clock(9, 0), 2000)
	x.prepare(20000, clock(19, 0), clock(21, 0), clock(10, 0))
	x.at(clock(21, 30), 600) // without a server between
	x.prepare(30000, clock(22, 0), clock(24, 0), clock(21, 30))
	x.at(clock(22, 0), 30000)
	x.rus, x.p = 5000, Overridden(x.p)
	x.at(clock(25, 0), 5000)
	x.at(clock(32, 0), 2000)
}

func TestCancel(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	x.prepare(20000, clock(8, 0), clock(10, 0), clock(1, 0))
	x.prepare(5000, clock(12, 0), clock(13, 0), clock(1, 0))
	x.at(clock(8, 0), 20000)
	rus, p, err := Cancel(x.rus, x.p, clock(12, 0))
	if err != nil || rus != 20000 || len(p.Prepared) != 1 {
		t.Error(rus, p, err)
	}
	rus, p, err = Cancel(x.rus, x.p, time.Time{})
	if err != nil || rus != 400 || p != nil {
		t.Error(rus, p, err)
	}
	for _, from := range []time.Time{{}, clock(8, 0)} {
		if _, _, err := Cancel(400, nil, from); mongoerr.CodeOf(err) != mongoerr.BadValue {
			t.Error(err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	now := clock(1, 0)
	p, _, err := Prepare(nil, catalog.Prepared{RU: 1000, SplitFrom: now, From: clock(8, 0), To: clock(10, 0)}, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]catalog.Prepared{
		"order":     {SplitFrom: now, From: clock(12, 0), To: clock(12, 0)},
		"passed":    {SplitFrom: now, From: day, To: now},
		"split":     {SplitFrom: clock(13, 0), From: clock(12, 0), To: clock(14, 0)},
		"overlap":   {SplitFrom: now, From: clock(9, 0), To: clock(11, 0)},
		"in":        {SplitFrom: now, From: clock(8, 30), To: clock(9, 0)},
		"around":    {SplitFrom: now, From: clock(7, 0), To: clock(11, 0)},
		"beginning": {SplitFrom: now, From: clock(7, 0), To: clock(8, 1)},
	} {
		if _, _, err := Prepare(p, x, now); mongoerr.CodeOf(err) != mongoerr.BadValue {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := 1; i < PreparedMax; i++ {
		at := clock(10+i, 0)
		if p, _, err = Prepare(p, catalog.Prepared{RU: 1000, SplitFrom: now, From: at, To: at.Add(time.Hour)}, now); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Prepare(p, catalog.Prepared{RU: 1000, SplitFrom: now, From: clock(100, 0), To: clock(101, 0)}, now); mongoerr.CodeOf(err) != mongoerr.BadValue {
		t.Error(err)
	}
	// The same beginning replaces it.
	q, runs, err := Prepare(p, catalog.Prepared{RU: 3000, SplitFrom: now, From: clock(8, 0), To: clock(9, 0)}, now)
	if err != nil || runs || len(q.Prepared) != PreparedMax || q.Prepared[0].RU != 3000 || p.Prepared[0].RU != 1000 {
		t.Error(q, runs, err)
	}
}

// A running preparation can be extended and raised.
func TestPrepareAgain(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	x.prepare(20000, clock(8, 0), clock(10, 0), clock(1, 0))
	x.at(clock(9, 0), 20000)
	x.prepare(30000, clock(8, 0), clock(12, 0), clock(9, 0))
	x.at(clock(10, 0), 30000)
	x.at(clock(12, 0), 400)
}

func TestNeeded(t *testing.T) {
	x := &throughput{t: t, rus: 400}
	x.prepare(20000, clock(8, 0), clock(10, 0), clock(1, 0))
	x.prepare(50000, clock(12, 0), clock(13, 0), clock(1, 0))
	for _, c := range []struct {
		at   time.Time
		want int64
	}{{clock(6, 59), 0}, {clock(7, 0), 20000}, {clock(9, 59), 20000}, {clock(10, 0), 0}, {clock(11, 0), 50000}, {clock(13, 0), 0}} {
		if n := Needed(x.p, c.at); n != c.want {
			t.Errorf("%s: %d, want %d", c.at, n, c.want)
		}
	}
	if Needed(nil, day) != 0 {
		t.Error("nothing is planned")
	}
}
