package history

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/ratelimit"
)

// add adds the lines of another server to the columns of l.
func (l *Lines) add(o *Lines) {
	if o.Step != l.Step {
		return
	}
	for i := range o.Totals {
		if at := (o.From-l.From)/l.Step + int64(i); at >= 0 && at < int64(len(l.Totals)) {
			l.Totals[at].add(&o.Totals[i])
		}
	}
}

// add adds the total of another server for the same time.
func (t *Total) add(o *Total) {
	t.RU, t.Reads, t.Writes, t.Refused, t.Failed, t.KiB = t.RU+o.RU, t.Reads+o.Reads, t.Writes+o.Writes, t.Refused+o.Refused, t.Failed+o.Failed, t.KiB+o.KiB
	t.Connections += o.Connections
	t.Provisioned, t.Busiest = max(t.Provisioned, o.Provisioned), max(t.Busiest, o.Busiest)
	t.P50, t.P99 = max(t.P50, o.P50), max(t.P99, o.P99)
	for i, v := range o.RefusedBy {
		t.RefusedBy[i] += v
	}
}

// rowName identifies a partition in the histories of several servers, also across the shard maps of a collection.
type rowName struct {
	place     ratelimit.ShardID
	namespace string
	lo, hi    string
}

func (r *HeatRow) name() rowName {
	return rowName{r.Part.Place, r.Part.Namespace, r.Part.Lo, r.Part.Hi}
}

// add adds the rows of another server.
func (h *Heat) add(o *Heat, m Metric) {
	if o.Step != h.Step {
		return
	}
	known := map[rowName]int{}
	for i := range h.Rows {
		known[h.Rows[i].name()] = i
	}
	end := h.From + int64(h.Columns)*h.Step
	for i := range o.Rows {
		r := o.Rows[i]
		if r.First >= end || r.First+int64(len(r.Cells))*h.Step <= h.From {
			continue
		}
		at, ok := known[r.name()]
		if !ok {
			at = len(h.Rows)
			h.Rows = append(h.Rows, HeatRow{Part: r.Part, First: max(r.First, h.From), Until: r.Until})
			known[r.name()] = at
		}
		h.Rows[at].add(&r, h.From, end, h.Step, m)
	}
	slices.SortStableFunc(h.Rows, func(a, b HeatRow) int { return cmp.Or(byPlace(a.Part, b.Part), cmp.Compare(a.First, b.First)) })
}

// add adds to a row the cells of the same partition's row at another server, as far as they lie in [from, end):
// latencies by their maximum, other metrics by their sum.
func (r *HeatRow) add(o *HeatRow, from, end, step int64, m Metric) {
	first := max(min(r.First, o.First), from)
	if before := (r.First - first) / step; before > 0 {
		r.Cells = append(make([]byte, before), r.Cells...)
		r.First = first
	}
	for i, c := range o.Cells {
		second := o.First + int64(i)*step
		if second < from || second >= end {
			continue
		}
		at := int((second - r.First) / step)
		for len(r.Cells) <= at {
			r.Cells = append(r.Cells, 0)
		}
		switch {
		case r.Cells[at] == 0:
			r.Cells[at] = c
		case m == Latency:
			r.Cells[at] = max(r.Cells[at], c)
		case c != 0:
			r.Cells[at] = Scale(Value(r.Cells[at]) + Value(c))
		}
	}
}
