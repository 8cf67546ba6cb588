package top

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// screen formats a picture as lines.
type screen struct {
	width, height int // height 0 means no limit
	colour        bool
	lines         []string
}

const (
	bold, faint, alarm, plain = "\x1b[1m", "\x1b[2m", "\x1b[31;1m", "\x1b[0m"
	labelMost                 = 34
	figures                   = 22 // columns for numbers behind a row of the heat map
	rowsMost                  = 512
)

func (s *screen) style(how, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return how + text + plain
}

func (s *screen) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// last is the newest number of a line.
func last(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

func sum(list []float64) (all float64) {
	for _, v := range list {
		all += v
	}
	return all
}

// render makes the lines of a picture.
func (s *screen) render(p *picture, v *view) []string {
	s.lines = s.lines[:0]
	s.head(p, v)
	if v.help {
		s.add("")
		for _, l := range helpLines {
			s.add("  %s", l)
		}
		return s.lines
	}
	s.warn(p, v)
	below := min(len(p.Requests.Requests), 5) + min(len(p.Events), 3) + 3
	rows := rowsMost
	if s.height > 0 {
		rows = max(3, s.height-len(s.lines)-below-4)
	}
	s.heat(p, v, rows)
	s.requests(p)
	s.events(p)
	if s.height > 0 {
		s.lines = s.lines[:min(len(s.lines), s.height)]
	}
	return s.lines
}

// head shows the numbers of the whole server.
func (s *screen) head(p *picture, v *view) {
	l := &p.Lines
	at := time.Unix(l.From+int64(len(l.RU))*l.Step, 0)
	state := ""
	if v.resting {
		state = "  (paused: space continues)"
	}
	user := ""
	if p.Server.User != "" {
		user = " as " + p.Server.User
	}
	s.add("%s  %s%s  %s%s", s.style(bold, "cantle "+p.Server.Version), at.Format(time.TimeOnly), user, "? for help, q to end", state)
	of := ""
	if most := last(l.Provisioned); most > 0 {
		of = fmt.Sprintf(" of %s, busiest partition %s%%", num(most), num(last(l.Busiest)))
	}
	refused := fmt.Sprintf("%s refused", num(last(l.Refused)))
	if last(l.Refused) > 0 {
		refused = s.style(alarm, refused)
	}
	s.add("%s RU/s%s   %s reads  %s writes  %s  %s failed   p50 %s ms  p99 %s ms   %s connections", s.style(bold, num(last(l.RU))), of,
		num(last(l.Reads)), num(last(l.Writes)), refused, num(last(l.Failed)), num(last(l.P50)), num(last(l.P99)), num(last(l.Connections)))
	most := 0.0
	for _, u := range l.RU {
		most = max(most, u)
	}
	name := fmt.Sprintf("RU/s, up to %s ", num(most))
	s.add("%s%s", s.style(faint, name), spark(l.RU, s.width-len(name), most))
}

// warn shows the warnings.
func (s *screen) warn(p *picture, v *view) {
	n := 0
	for _, w := range p.Warnings.Warnings {
		if v.ns != "" && w.NS != "" && w.NS != v.ns {
			continue
		}
		if n++; n > 3 {
			continue
		}
		s.add("%s %s", s.style(alarm, "!"), s.cut(strings.TrimSpace(w.NS+" "+w.Text), s.width-2))
	}
	if n > 3 {
		s.add("  and %d more warnings: see the console", n-3)
	}
}

// row is one partition.
type row struct {
	label      string
	ns         string
	from       float64
	partition  int
	cells      []float64
	now, total float64
}

// rows returns a row for each partition of the heat map, also for one that was split or merged if it had load, and
// the greatest value of all cells.
func (p *picture) rows() (out []row, most float64) {
	h := &p.Heat
	for _, r := range h.Rows {
		line := row{label: fmt.Sprintf("%s %d", r.NS, r.Partition), ns: r.NS, from: r.From, partition: r.Partition, cells: make([]float64, h.Columns)}
		at := int((r.First - h.From) / max(1, h.Step))
		for i, c := range r.Cells {
			if c == 0 || at+i < 0 || at+i >= h.Columns {
				continue
			}
			v := h.Least * math.Pow(h.Ratio, float64(c)-1)
			line.cells[at+i] = v
			most = max(most, v)
		}
		line.now, line.total = last(line.cells), sum(line.cells)
		if r.Until != 0 && line.total == 0 {
			continue
		}
		out = append(out, line)
	}
	return out, most
}

// heat shows a line of blocks for each partition.
func (s *screen) heat(p *picture, v *view, height int) {
	list, most := p.rows()
	order := func(a, b row) int {
		return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.from, b.from), cmp.Compare(a.partition, b.partition))
	}
	if v.byLoad {
		order = func(a, b row) int {
			return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.ns, b.ns), cmp.Compare(a.partition, b.partition))
		}
	}
	slices.SortStableFunc(list, order)
	what := "all collections"
	if v.ns != "" {
		what = v.ns
	}
	unit := metrics[v.at].unit
	s.add("")
	s.add("%s  %s, the last %s, up to %s %s", s.style(bold, what), v.metric(), span(v.span), num(most), unit)
	if p.Heat.Pattern.Text != "" && v.ns != "" {
		s.add("%s", s.cut(p.Heat.Pattern.Text, s.width))
	}
	if len(list) == 0 {
		s.add("  no load in this time range")
		return
	}
	all := 0.0
	label := 0
	for _, r := range list {
		all += r.total
		label = max(label, min(labelMost, utf8.RuneCountInString(r.label)))
	}
	v.scroll = max(0, min(v.scroll, len(list)-height))
	shown := list[v.scroll:min(len(list), v.scroll+height)]
	for _, r := range shown {
		share := ""
		if all > 0 && v.metric() != "latency" {
			share = fmt.Sprintf("%3.0f%%", 100*r.total/all)
		}
		s.add("%s %s %6s %s %s", pad(s.cut(r.label, label), label), warm(r.cells, max(8, s.width-label-figures), most, s.colour), num(r.now), unit, share)
	}
	if more := len(list) - len(shown); more > 0 {
		s.add("%s", s.style(faint, fmt.Sprintf("  %d more partitions (↑ ↓)", more)))
	}
}

// requests shows the most expensive shapes.
func (s *screen) requests(p *picture) {
	if len(p.Requests.Requests) == 0 {
		return
	}
	s.add("")
	s.add("%s", s.style(faint, "     RU  share   each     ms     runs  request"))
	for i, r := range p.Requests.Requests {
		if i == 5 {
			break
		}
		n, _ := r.Count.Float64()
		text := fmt.Sprintf("%7s %5.1f%% %6s %6s %8s  %s %s %s %s", num(r.RU), r.RUPercent, num(r.RUAverage), num(r.MillisAverage), num(n), r.Command, r.NS, r.Filter, strings.TrimSpace(r.Sort+" "+by(r.Callers)))
		s.add("%s", s.cut(strings.TrimRight(text, " "), s.width))
	}
}

// by names the caller with most of the recent load of a shape, with its share; "" if there is none.
func by(list []caller) string {
	if len(list) == 0 {
		return ""
	}
	c := &list[0]
	text := fmt.Sprintf("by %s %.0f%%", cmp.Or(c.AppName, c.Driver, "unnamed"), c.RecentPercent)
	if c.User != "" {
		text += " " + c.User
	}
	return "[" + text + "]"
}

// events shows splits, merges and scaling.
func (s *screen) events(p *picture) {
	list := p.Events[max(0, len(p.Events)-3):]
	for i, e := range list {
		if i == 0 {
			s.add("")
		}
		s.add("%s", s.cut(fmt.Sprintf("%s  %s %s %s", time.Unix(e.At, 0).Format(time.TimeOnly), e.Kind, e.NS, e.Text), s.width))
	}
}

// span formats a duration.
func span(seconds int64) string {
	switch {
	case seconds < 3600:
		return fmt.Sprintf("%d min", seconds/60)
	case seconds < 86400:
		return fmt.Sprintf("%d h", seconds/3600)
	}
	return fmt.Sprintf("%d d", seconds/86400)
}

// cut shortens a text, and removes control characters.
func (s *screen) cut(text string, width int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '·'
		}
		return r
	}, text)
	if utf8.RuneCountInString(text) <= width || width < 1 {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
