package history

// The levels of the history, from the finest to the coarsest.
const (
	Seconds = iota // 1 s × 15 min
	Tens           // 10 s × 6 h
	Fives          // 5 min × 7 d
	levelCount
)

// levels holds, for each level, the seconds of a column and the number of columns.
var levels = [levelCount]struct{ step, columns int64 }{{1, 15 * 60}, {10, 6 * 360}, {300, 7 * 288}}

// Step returns the seconds of one column of a level, and Span those of all its columns.
func Step(level int) int64 { return levels[level].step }

// Span returns the seconds of all columns of a level.
func Span(level int) int64 { return levels[level].step * levels[level].columns }

// LevelFor returns the finest level that reaches back the given number of seconds, the coarsest if none does.
func LevelFor(seconds int64) int {
	for l := range levels {
		if seconds <= Span(l) {
			return l
		}
	}
	return levelCount - 1
}

// column holds the work of all rows in one step of a level: for each metric in mask, in order, a byte per row. Most
// columns have no refusals and no failures, and use no memory for them.
type column struct {
	mask  uint16
	width uint16
	cells []byte
}

// at returns the cell of a row and metric.
func (c *column) at(row int, m Metric) byte {
	if row >= int(c.width) || c.mask&(1<<m) == 0 {
		return 0
	}
	plane := 0
	for i := range m {
		plane += int(c.mask >> i & 1)
	}
	return c.cells[plane*int(c.width)+row]
}

// work sums the work of one row until its column is full.
type work struct {
	ru, bytes                     int64 // micro request units; bytes
	reads, writes, refused, fails int64
	ended, micros                 int64 // requests that were not refused, and their total duration
	refusedLeast, refusedMost     int64 // bounds of the price of the refused ones, micro request units
	retried                       int64 // part of ru of requests that are in refusedLeast
}

func (w *work) add(o *work) {
	w.ru += o.ru
	w.bytes += o.bytes
	w.reads += o.reads
	w.writes += o.writes
	w.refused += o.refused
	w.fails += o.fails
	w.ended += o.ended
	w.micros += o.micros
	w.refusedLeast += o.refusedLeast
	w.refusedMost += o.refusedMost
	w.retried += o.retried
}

// value returns a metric of the work that was done within the given number of seconds: an average per second, or the
// latency in milliseconds.
func (w *work) value(m Metric, seconds int64) float64 {
	per := func(n int64) float64 { return float64(n) / float64(seconds) }
	switch m {
	case RU:
		return per(w.ru) / 1e6
	case Reads:
		return per(w.reads)
	case Writes:
		return per(w.writes)
	case Refused:
		return per(w.refused)
	case Failed:
		return per(w.fails)
	case KiB:
		return per(w.bytes) / 1024
	case RefusedLeast:
		return per(w.refusedLeast) / 1e6
	case RefusedMost:
		return per(w.refusedMost) / 1e6
	case Retried:
		return per(w.retried) / 1e6
	case Latency:
		if w.ended > 0 {
			return float64(w.micros) / float64(w.ended) / 1000
		}
	}
	return 0
}

// ring holds one level of the history: its full columns, and the sums of the column that is being filled.
type ring struct {
	step    int64
	newest  int64 // number of the newest full column: its time divided by step
	columns []column
	totals  []Total
	filling [RowsMax]work
	busy    int // number of rows of filling in use
	sum     sums

	shapes    [][]shapeEntry // of full columns; none of the level Seconds
	shapesNow shapeWorks     // of the step that is being filled; nil for the level Seconds
}

func (r *ring) init(level int, newest int64) {
	r.step, r.newest = levels[level].step, newest
	r.columns = make([]column, levels[level].columns)
	r.totals = make([]Total, levels[level].columns)
	if level != Seconds {
		r.shapes, r.shapesNow = make([][]shapeEntry, levels[level].columns), shapeWorks{}
	}
}

// slot returns the index of a column number in the ring.
func (r *ring) slot(n int64) int64 {
	size := int64(len(r.columns))
	return ((n % size) + size) % size
}

// add adds the work of a row to the column that is being filled.
func (r *ring) add(row int, w *work) {
	r.filling[row].add(w)
	r.busy = max(r.busy, row+1)
}

// empty empties the column with number n.
func (r *ring) empty(n int64) {
	r.columns[r.slot(n)], r.totals[r.slot(n)] = column{}, Total{}
	if r.shapes != nil {
		r.shapes[r.slot(n)] = nil
	}
}

// closeShapes stores the shapes of the step that is being filled as those of the column with number n, which is full.
func (r *ring) closeShapes(n int64, othersOf func(shapeID) shapeID) {
	if r.shapes != nil {
		r.shapes[r.slot(n)] = r.shapeEntries(othersOf)
		clear(r.shapesNow)
	}
}

// close stores the sums that are being filled as the column with number n, and begins the next.
func (r *ring) close(n int64) {
	r.skipTo(n - 1)
	c := column{width: uint16(r.busy)}
	for m := range metricCount {
		plane, any := len(c.cells), byte(0)
		for i := range r.busy {
			b := byte(0)
			if r.filling[i] != (work{}) {
				b = Scale(r.filling[i].value(m, r.step))
			}
			c.cells = append(c.cells, b)
			any |= b
		}
		if any == 0 {
			c.cells = c.cells[:plane]
		} else {
			c.mask |= 1 << m
		}
	}
	if c.mask == 0 {
		c = column{}
	}
	c.cells = append([]byte(nil), c.cells...) // without unused capacity
	r.push(n, c, r.sum.total(r.step))
	clear(r.filling[:r.busy])
	r.busy, r.sum = 0, sums{}
}

// forget empties the columns up to n.
func (r *ring) forget(n int64) {
	for i := max(r.newest-int64(len(r.columns)), 0) + 1; i <= min(n, r.newest); i++ {
		r.empty(i)
	}
}

// skipTo makes the columns up to n empty, as far as they are not full yet.
func (r *ring) skipTo(n int64) {
	for i := max(r.newest+1, n-int64(len(r.columns))+1); i <= n; i++ {
		r.empty(i)
	}
	r.newest = max(r.newest, n)
}

func (r *ring) push(n int64, c column, t Total) {
	r.columns[r.slot(n)], r.totals[r.slot(n)] = c, t
	r.newest = max(r.newest, n)
}

// has reports whether the ring contains a column number.
func (r *ring) has(n int64) bool { return n <= r.newest && n > r.newest-int64(len(r.columns)) }
