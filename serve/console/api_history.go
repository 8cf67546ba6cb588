package console

import (
	"math"
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/history"
)

// linesReply is the load of the whole server, column by column.
type linesReply struct {
	Step        int64     `json:"step"` // seconds of a column
	From        int64     `json:"from"` // second at which the first column begins
	RU          []float32 `json:"ru"`
	Provisioned []float32 `json:"provisioned"`
	Busiest     []float32 `json:"busiest"`
	Reads       []float32 `json:"reads"`
	Writes      []float32 `json:"writes"`
	Refused     []float32 `json:"refused"`
	Failed      []float32 `json:"failed"`
	KiB         []float32 `json:"kib"`
	P50         []float32 `json:"p50"`
	P99         []float32 `json:"p99"`
	Connections []float32 `json:"connections"`
	// RefusedBy is Refused by limit, without limits that refused nothing.
	RefusedBy  map[ratelimit.Limit][]float32 `json:"refusedBy,omitempty"`
	Incomplete []string                      `json:"incomplete,omitempty"` // servers that did not answer
}

// newLines converts columns into a list per number.
func newLines(l history.Lines) *linesReply {
	out := &linesReply{Step: l.Step, From: l.From}
	for _, row := range out.rows() {
		*row = make([]float32, 0, len(l.Totals))
	}
	for i := range l.Totals {
		t := &l.Totals[i]
		for j, v := range []float32{t.RU, t.Provisioned, t.Busiest, t.Reads, t.Writes, t.Refused, t.Failed, t.KiB, t.P50, t.P99, t.Connections} {
			row := out.rows()[j]
			*row = append(*row, v)
		}
		for j, v := range t.RefusedBy {
			if v > 0 {
				out.refusedBy(ratelimit.Limits[j], len(l.Totals))[i] = v
			}
		}
	}
	return out
}

// refusedBy returns the list of a limit, made on first use.
func (l *linesReply) refusedBy(limit ratelimit.Limit, columns int) []float32 {
	if l.RefusedBy == nil {
		l.RefusedBy = map[ratelimit.Limit][]float32{}
	}
	if l.RefusedBy[limit] == nil {
		l.RefusedBy[limit] = make([]float32, columns)
	}
	return l.RefusedBy[limit]
}

// rows returns the lists of numbers in a reply, in the order of its fields, so that one loop fills all of them.
func (l *linesReply) rows() []*[]float32 {
	return []*[]float32{&l.RU, &l.Provisioned, &l.Busiest, &l.Reads, &l.Writes, &l.Refused, &l.Failed, &l.KiB, &l.P50, &l.P99, &l.Connections}
}

// window reads the arguments from and to of a request, in seconds since 1970. A negative from counts back from to.
// The default of to is now, that of from is to minus the span of history.Seconds. level is the finest resolution of
// the history that reaches back to from.
func (q *query) window() (level int, from, to int64, err error) {
	now := q.History.Second()
	if to, err = q.number("to", now, 0, math.MaxInt32); err != nil {
		return 0, 0, 0, err
	}
	if from, err = q.number("from", to-history.Span(history.Seconds), -math.MaxInt32, math.MaxInt32); err != nil {
		return 0, 0, 0, err
	}
	if from < 0 {
		from += to
	}
	if from >= to {
		return 0, 0, 0, mongoerr.New(mongoerr.BadValue, "from is before to")
	}
	return history.LevelFor(now - from), from, to, nil
}

// isLive reports whether a time that ends at the second to reaches the present.
func (q *query) isLive(to int64) bool { return to >= q.History.Second() }

// lines returns the load of the whole server over time.
func lines(q *query) (any, error) {
	if err := q.mayLoad(); err != nil {
		return nil, err
	}
	level, from, to, err := q.window()
	if err != nil {
		return nil, err
	}
	l, unreachable, err := q.History.Lines(q.Context(), level, from, to)
	if err != nil {
		return nil, err
	}
	out := newLines(l)
	out.Incomplete = unreachable
	return out, nil
}

// heatReply is the heat map of one metric: a row for each partition, with a cell for each interval of time in which
// the partition existed. If there are too many partitions, several share a row.
type heatReply struct {
	Step       int64     `json:"step"`
	From       int64     `json:"from"`
	Columns    int       `json:"columns"`
	Metric     string    `json:"metric"`
	Least      float64   `json:"least"` // the value of cell 1
	Ratio      float64   `json:"ratio"` // of one cell to the cell before
	Rows       []heatRow `json:"rows"`
	Pattern    pattern   `json:"pattern"`
	Incomplete []string  `json:"incomplete,omitempty"` // servers that did not answer
}

// heatRow is one partition.
type heatRow struct {
	Partition  int     `json:"partition"`
	Collection uint64  `json:"collection"` // distinguishes a collection from the one that it was resharded to
	NS         string  `json:"ns"`
	Lo         string  `json:"lo"` // "" if the collection has no shard key, or if the user may not see values
	Hi         string  `json:"hi"`
	From       float64 `json:"from"` // of the line of hashes, from 0 to 1
	To         float64 `json:"to"`
	First      int64   `json:"first"` // second of the first cell
	Until      int64   `json:"until"` // when it ceased to exist, 0 if it exists
	Others     int     `json:"others"`
	Cells      []byte  `json:"cells"` // base64
}

// heat returns the heat map of one metric: its value for every partition and interval of time.
func heat(q *query) (any, error) {
	name := q.text("ns")
	if name == "" {
		if err := q.mayLoad(); err != nil {
			return nil, err
		}
	} else {
		ns, err := q.namespace()
		if err == nil {
			err = q.mayNamespace(ns)
		}
		if err != nil {
			return nil, err
		}
	}
	level, from, to, err := q.window()
	if err != nil {
		return nil, err
	}
	m := history.RU
	if s := q.text("metric"); s != "" {
		var ok bool
		if m, ok = history.MetricNamed(s); !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "metric is ru, reads, writes, refused, failed, kib or latency")
		}
	}
	metrics := []history.Metric{history.RU, history.Refused} // of the judgement
	shown := slices.Index(metrics, m)
	if shown < 0 {
		shown, metrics = len(metrics), append(metrics, m)
	}
	heats, unreachable, err := q.History.Heats(q.Context(), level, name, from, to, metrics...)
	if err != nil {
		return nil, err
	}
	h, list := heats[shown], q.judge(&heats[0], &heats[1], q.isLive(to))
	out := heatReply{Incomplete: unreachable, Step: h.Step, From: h.From, Columns: h.Columns, Metric: m.String(), Least: history.ScaleLeast, Ratio: history.ScaleStep,
		Rows: []heatRow{}, Pattern: patternOf(list, name == "")}
	for i := range h.Rows {
		r, p := &h.Rows[i], h.Rows[i].Part
		row := heatRow{Partition: p.Place.Shard, Collection: p.Place.Collection, NS: p.Namespace,
			From: p.From, To: p.To, First: r.First, Until: r.Until, Others: p.Others, Cells: r.Cells}
		if q.Server.MaySeeBounds(q.conn.login(), collection.ParseNamespace(p.Namespace)) {
			row.Lo, row.Hi = p.Lo, p.Hi
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// event is an entry of the history in the console: a change of the partitions, or of the throughput, of a collection.
type event struct {
	At         int64  `json:"at"`
	Kind       string `json:"kind"`
	NS         string `json:"ns"`
	Text       string `json:"text"`
	Partitions []int  `json:"partitions,omitempty"`
}

// newEvents converts events for the reply.
func newEvents(list []history.Event) []event {
	out := []event{}
	for _, e := range list {
		out = append(out, event{e.At, e.Kind, e.Namespace, e.Text, e.Parts})
	}
	return out
}

// events returns the events of collections.
func events(q *query) (any, error) {
	name := q.text("ns")
	if name == "" {
		if err := q.mayLoad(); err != nil {
			return nil, err
		}
	} else if ns, err := q.namespace(); err != nil {
		return nil, err
	} else if err := q.mayNamespace(ns); err != nil {
		return nil, err
	}
	_, from, to, err := q.window()
	if err != nil {
		return nil, err
	}
	return newEvents(q.History.Events(name, from, to+1)), nil
}
