package console

import (
	"fmt"

	"github.com/cantledb/cantle/shard/history"
)

// pattern describes a heat map in a word and a sentence.
type pattern struct {
	Kind string `json:"kind"` // nothing, one, even, hot, moving or waves
	Text string `json:"text"`
	// Partition is the number of the partition with most load, within its collection; -1 for the kind nothing.
	Partition int     `json:"partition"`
	Share     float64 `json:"share"` // of the partition, from 0 to 1
}

// patternOf names the pattern of load in a heat map (a row per partition, a column per interval): even, one hot line,
// a diagonal, waves, or one for a map with a single partition; "nothing" without load, and for the metric Latency.
// Source: TiDB, "key visualizer".
func patternOf(h *history.Heat, m history.Metric) pattern {
	if m == history.Latency {
		return pattern{Kind: "nothing", Partition: -1}
	}
	columns := make([]float64, h.Columns)
	tops := make([]int, h.Columns) // the row with most in each column
	best := make([]float64, h.Columns)
	var all, most float64
	hot, rows := -1, 0
	for i := range h.Rows {
		sum := 0.0
		for j, c := range h.Rows[i].Cells {
			v := history.Value(c)
			at := int((h.Rows[i].First-h.From)/h.Step) + j
			sum += v
			columns[at] += v
			if v > best[at] {
				best[at], tops[at] = v, i
			}
		}
		if h.Rows[i].Until == 0 {
			rows++
		}
		if all += sum; sum > most {
			most, hot = sum, i
		}
	}
	if all == 0 {
		return pattern{Kind: "nothing", Text: "No load in this time range.", Partition: -1}
	}
	p := pattern{Partition: h.Rows[hot].Part.Place.Shard, Share: most / all}
	switch lag := period(columns); {
	case rows <= 1:
		p.Kind, p.Text = "one", "There is one partition: a shard key and more RU/s would distribute the load over several."
	case moving(tops, best, len(h.Rows)):
		p.Kind, p.Text = "moving", "A diagonal: the load moves along the key, one partition at a time, as with ascending keys. A hashed key would spread it."
	case p.Share > 2/float64(rows) && p.Share > 0.3:
		p.Kind = "hot"
		p.Text = fmt.Sprintf("A hot line: partition %d has %.0f %% of the load, %.1f times the average of %d partitions. Look at its most expensive values: if one value causes the load, "+
			"only another shard key (or a suffix) can divide it.", p.Partition, 100*p.Share, p.Share*float64(rows), rows)
	case lag > 0:
		p.Kind, p.Text = "waves", fmt.Sprintf("Waves: the load repeats every %s. With autoscale you pay only for the waves; burst capacity may absorb short ones.", duration(int64(lag)*h.Step))
	default:
		p.Kind, p.Text = "even", fmt.Sprintf("Even: the busiest of %d partitions has %.1f times the average.", rows, p.Share*float64(rows))
	}
	return p
}

// moving reports whether the busiest row of a heat map moves up over time, as with ascending keys: in at least three
// steps up, with at most one step down for four up. For a map of fewer than four rows it returns false. tops has the
// busiest row of each column, best the load there.
func moving(tops []int, best []float64, rows int) bool {
	steps, back, last := 0, 0, -1
	for i, t := range tops {
		if best[i] == 0 {
			continue
		}
		if last >= 0 && t > last {
			steps++
		} else if last >= 0 && t < last {
			back++
		}
		last = t
	}
	return rows >= 4 && steps >= 3 && back <= steps/4
}

// period returns the number of columns after which a line of loads repeats itself, found by autocorrelation; 0 if it
// does not repeat.
func period(line []float64) int {
	n := len(line)
	mean, square := 0.0, 0.0
	for _, v := range line {
		mean += v / float64(max(1, n))
	}
	for _, v := range line {
		square += (v - mean) * (v - mean)
	}
	if square < 0.1*mean*mean*float64(n) { // flat
		return 0
	}
	lag, most, fell := 0, 0.5, false
	for k := 2; k <= n/3; k++ {
		sum := 0.0
		for i := range n - k {
			sum += (line[i] - mean) * (line[i+k] - mean)
		}
		r := sum / square * float64(n) / float64(n-k)
		if r < 0.2 {
			fell = true
		}
		if fell && r > most+0.05 {
			lag, most = k, r
		}
	}
	return lag
}

// duration prints seconds in a readable unit.
func duration(seconds int64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%d seconds", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%d minutes", (seconds+30)/60)
	}
	return fmt.Sprintf("%.1f hours", float64(seconds)/3600)
}
