package catalog

import (
	"time"

	"github.com/cantledb/cantle/bson"
)

// Planned holds the changes of the RU/s of a collection or database that the server makes at their times. Immutable.
// Package shard/planned has the rules.
type Planned struct {
	// Prepared are RU/s for a time, ascending. They do not overlap.
	Prepared []Prepared
	Schedule Schedule
}

// Prepared is RU/s for a time.
type Prepared struct {
	RU int64
	// From and To bound the time in which the RU/s hold. From SplitFrom on, partitions are split until there are enough.
	SplitFrom, From, To time.Time
	// Running is true from the moment when the RU/s took effect. Former are the RU/s that follow at To.
	Running bool
	Former  int64
}

// Schedule is a list of times that repeat, each with RU/s.
type Schedule struct {
	Zone string // Olson name; "" is UTC
	Rows []ScheduleRow
	// Done is the newest time of a row that has taken effect.
	Done time.Time
}

// ScheduleRow is one row of a Schedule.
type ScheduleRow struct {
	Cron string // minute, hour, day of the month, month, day of the week
	RU   int64
}

// IsEmpty reports whether nothing is planned; true for nil.
func (p *Planned) IsEmpty() bool { return p == nil || len(p.Prepared)+len(p.Schedule.Rows) == 0 }

// With returns a copy of the database entry with another throughput and other planned changes.
func (d *Database) With(t Throughput, p *Planned) *Database {
	n := *d
	n.Throughput, n.Planned = t, p
	return &n
}

// plannedHeld is the number of bytes counted for one planned change.
const plannedHeld = 256

// weigh returns the bytes counted for planned changes; p may be nil.
func (p *Planned) weigh() int64 {
	if p == nil {
		return 0
	}
	return int64(len(p.Prepared)+len(p.Schedule.Rows)) * plannedHeld
}

func appendPlanned(b *bson.Builder, p *Planned) {
	if p.IsEmpty() {
		return
	}
	b.BeginDoc("planned")
	b.BeginArray("prepared")
	for _, x := range p.Prepared {
		b.BeginDoc("")
		b.Int64("ru", x.RU)
		b.DateTime("splitFrom", x.SplitFrom.UnixMilli())
		b.DateTime("from", x.From.UnixMilli())
		b.DateTime("to", x.To.UnixMilli())
		if x.Running {
			b.Int64("former", x.Former)
		}
		b.End()
	}
	b.End()
	if len(p.Schedule.Rows) > 0 {
		b.String("zone", p.Schedule.Zone)
		b.DateTime("done", p.Schedule.Done.UnixMilli())
		b.BeginArray("rows")
		for _, x := range p.Schedule.Rows {
			b.BeginDoc("")
			b.String("cron", x.Cron)
			b.Int64("ru", x.RU)
			b.End()
		}
		b.End()
	}
	b.End()
}

// decodePlanned returns the planned changes in a stored entry; nil for none.
func decodePlanned(r bson.Raw) *Planned {
	d, ok := r.Get("planned").Doc()
	if !ok {
		return nil
	}
	p := &Planned{Schedule: Schedule{Zone: text(d, "zone"), Done: date(d, "done")}}
	list, _ := d.Get("prepared").Array()
	for v := range list.Values() {
		x, _ := v.Doc()
		p.Prepared = append(p.Prepared, Prepared{
			RU: number(x, "ru"), SplitFrom: date(x, "splitFrom"), From: date(x, "from"), To: date(x, "to"),
			Running: x.Has("former"), Former: number(x, "former"),
		})
	}
	list, _ = d.Get("rows").Array()
	for v := range list.Values() {
		x, _ := v.Doc()
		p.Schedule.Rows = append(p.Schedule.Rows, ScheduleRow{Cron: text(x, "cron"), RU: number(x, "ru")})
	}
	return p
}

func date(r bson.Raw, name string) time.Time {
	ms, _ := r.Get(name).DateTime()
	return time.UnixMilli(ms).UTC()
}
