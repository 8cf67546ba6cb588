package history

import "slices"

// Lines holds the totals of the whole server (RU/s, requests, latencies), one for each column of a level.
type Lines struct {
	Step   int64   // seconds of a column
	From   int64   // second at which the first column begins
	Totals []Total // of full columns, the oldest first
}

// Lines returns the full columns of a level that begin in [from, to), in seconds since 1970.
func (r *Recorder) Lines(level int, from, to int64) Lines {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.update()
	first, last := r.window(level, from, to)
	ring := &r.rings[level]
	out := Lines{Step: ring.step, From: first * ring.step, Totals: []Total{}}
	for n := first; n <= last; n++ {
		out.Totals = append(out.Totals, ring.totals[ring.slot(n)])
	}
	return out
}

// window returns the first and the last full column of a level that begin in [from, to).
func (r *Recorder) window(level int, from, to int64) (first, last int64) {
	ring := &r.rings[level]
	first = max((from+ring.step-1)/ring.step, ring.newest-int64(len(ring.columns))+1)
	return first, min((to+ring.step-1)/ring.step-1, ring.newest)
}

// Heat holds one metric of the partitions of a collection over time: a row for each partition, a cell for each
// column.
type Heat struct {
	Step, From int64 // as those of Lines
	Columns    int
	Rows       []HeatRow // by range; those of an older shard map of the collection beside the newer
}

// HeatRow holds one metric of one partition: a cell for each column, as a byte that Value converts.
type HeatRow struct {
	Part  *Part
	First int64 // the second of its first cell
	Until int64 // when the partition lost the row or ceased to exist; 0 = it has the row
	Cells []byte
}

// Heat returns a metric of the partitions of a collection, or of all collections if namespace is "", in the full
// columns of a level that begin in [from, to). A row has cells from the first to the last column in which its
// partition had the row.
func (r *Recorder) Heat(level int, m Metric, namespace string, from, to int64) Heat {
	return r.Heats(level, namespace, from, to, m)[0]
}

// Heats returns several metrics of the same moment: all have the same rows.
func (r *Recorder) Heats(level int, namespace string, from, to int64, metrics ...Metric) []Heat {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.update()
	out := make([]Heat, len(metrics))
	for i, m := range metrics {
		out[i] = r.heat(level, m, namespace, from, to)
	}
	return out
}

// heat is Heat without updating the history before; the caller holds mu.
func (r *Recorder) heat(level int, m Metric, namespace string, from, to int64) Heat {
	first, last := r.window(level, from, to)
	ring := &r.rings[level]
	out := Heat{Step: ring.step, From: first * ring.step, Columns: int(max(0, last-first+1)), Rows: []HeatRow{}}
	for i := range r.rows.list {
		for _, s := range r.rows.list[i].stays {
			if namespace != "" && s.part.Namespace != namespace {
				continue
			}
			begin, end := max(first, s.from/ring.step), last
			if s.until > 0 {
				end = min(end, (s.until-1)/ring.step)
			}
			if begin > end {
				continue
			}
			row := HeatRow{Part: s.part, First: begin * ring.step, Until: s.until, Cells: make([]byte, 0, end-begin+1)}
			for n := begin; n <= end; n++ {
				row.Cells = append(row.Cells, ring.columns[ring.slot(n)].at(i, m))
			}
			out.Rows = append(out.Rows, row)
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b HeatRow) int { return byPlace(a.Part, b.Part) })
	return out
}

// Events returns the recorded events (splits, merges, …) of a collection, or of all collections if namespace is "",
// within [from, to), the oldest first.
func (r *Recorder) Events(namespace string, from, to int64) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.update()
	out := []Event{}
	for _, e := range r.events {
		if e.At >= from && e.At < to && (namespace == "" || e.Namespace == namespace) {
			out = append(out, e)
		}
	}
	return out
}

// Second returns the second that is being filled: the columns before it are full.
func (r *Recorder) Second() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.update()
	return r.open
}
