package skew

// Track is the load of one partition over time.
type Track struct {
	Part    int
	RU      []float64 // per second, for each step
	Refused []float64 // requests per second, for each step
	Limit   float64   // RU/s now; 0 without a limit
	Gone    bool      // it no longer exists
}

// Past is the load of all partitions of a collection over a time: a track for each partition, ordered by range. Those
// without load are among them.
type Past struct {
	Step   int64 // seconds
	Tracks []Track
	Live   bool // the time ends now, so that the judgement is about now
	Ranged bool // the shard key is not hashed, so that neighbouring values are in one partition
}

// Pattern is the judgement of a Past. Its verdict is that of the newest part of the time if the Past is live,
// otherwise that of the whole time.
type Pattern struct {
	Verdict
	Cooled Verdict // an earlier hot partition, if there is none now; otherwise of the kind Idle
	Period int64   // seconds after which the load repeats, 0 if it does not
	Steps  int     // of the Past
	// First and Last are the numbers of the first and of the last step in which the state of the verdict was seen, in
	// the unbroken time up to Last.
	First, Last int
	step        int64
}

// The newest part of a live Past, in seconds: a fifth of its time, within these bounds.
const (
	recentLeast = 60
	recentMost  = 900
)

// gap is the number of seconds without load after which a load has ended.
const gap = 60

// Judge judges the load of a time.
func (p *Past) Judge() Pattern {
	tracks := p.present()
	columns := p.columns()
	out := Pattern{Steps: len(columns), step: p.Step, First: -1, Last: -1}
	last := len(columns) - 1
	for last >= 0 && columns[last] == 0 {
		last--
	}
	out.Verdict = Judge(loads(tracks, columns, 0, last+1, p.Step))
	if last < 0 || out.Kind == Idle {
		return out
	}
	lag := period(columns)
	out.Period = int64(lag) * p.Step
	idle := int64(len(columns)-1-last) * p.Step
	if p.Live && idle >= gap && (lag == 0 || len(columns)-1-last > lag) {
		out.Cooled, out.Kind = out.Verdict, Ended
		out.First, out.Last = seen(columns, last, p.Step)
		return out
	}
	if p.moving() {
		out.Kind = Moving
		out.First, out.Last = seen(columns, last, p.Step)
		return out
	}
	if p.Live {
		seconds := max(recentLeast, min(recentMost, int64(len(columns))*p.Step/5))
		whole := out.Verdict
		out.Verdict = Judge(loads(tracks, columns, last+1-max(lag, int((seconds+p.Step-1)/p.Step)), last+1, p.Step))
		if whole.Kind == Hot && out.Kind != Hot {
			out.Cooled = whole
		}
	}
	if lag > 0 && (out.Kind == Even || out.Kind == Full || out.Kind == One) {
		out.Kind = Waves
	}
	for i := range tracks {
		if tracks[i].Part == out.Part {
			out.First, out.Last = seen(tracks[i].signs(out.Serious()), last, p.Step)
		}
	}
	return out
}

// present returns the tracks of the partitions that exist. If none of these has load, because the collection was
// dropped or resharded since, it returns all tracks.
func (p *Past) present() (out []Track) {
	work := false
	for _, t := range p.Tracks {
		if t.Gone {
			continue
		}
		out = append(out, t)
		for i := range t.RU {
			work = work || t.RU[i] > 0 || t.Refused[i] > 0
		}
	}
	if !work {
		return p.Tracks
	}
	return out
}

// columns returns the load of all partitions in each step: RU, and refused requests, so that a step in which all was
// refused counts as load.
func (p *Past) columns() (out []float64) {
	for i := range p.Tracks {
		t := &p.Tracks[i]
		for len(out) < len(t.RU) {
			out = append(out, 0)
		}
		for j := range t.RU {
			out[j] += t.RU[j] + t.Refused[j]
		}
	}
	return out
}

// loads returns the load of each partition in the steps [from, to), and the seconds with load. Steps without any load
// do not count in averages: a partition that is at its limit during half of the time is hot during that half.
func loads(tracks []Track, columns []float64, from, to int, step int64) (out []Load, seconds float64) {
	out = make([]Load, len(tracks))
	active := 0
	for j := max(0, from); j < to; j++ {
		if columns[j] > 0 {
			active++
		}
	}
	for i := range tracks {
		t := &tracks[i]
		l := Load{Part: t.Part, Limit: t.Limit}
		for j := max(0, from); j < min(to, len(t.RU)); j++ {
			l.RU += t.RU[j] / float64(max(1, active))
			l.Busiest = max(l.Busiest, t.RU[j])
			l.Refused += t.Refused[j] * float64(step)
		}
		out[i] = l
	}
	return out, float64(int64(active) * step)
}

// signs returns, for each step, a number above 0 if the partition showed the state of a verdict: refusals or a use at
// its limit if the verdict is serious, otherwise load.
func (t *Track) signs(serious bool) []float64 {
	out := make([]float64, len(t.RU))
	for i := range out {
		if !serious || t.Refused[i] > 0 || t.RU[i] >= AtLimit*t.Limit {
			out[i] = t.RU[i] + t.Refused[i]
		}
	}
	return out
}

// seen returns the first and the last step with a number above 0, up to the step last, going back until there is none
// for the time gap.
func seen(line []float64, last int, step int64) (first, end int) {
	first, end = -1, -1
	for j := min(last, len(line)-1); j >= 0; j-- {
		if line[j] == 0 {
			if end >= 0 && int64(first-j)*step > max(gap, step) {
				break
			}
			continue
		}
		first = j
		if end < 0 {
			end = j
		}
	}
	return first, end
}

// moving reports whether the load moves along the key, as with ascending keys: one partition has most of it at a time,
// and this partition moves up. There are at least three steps up, with at most one step down for four up. With two or
// three partitions there are fewer steps, which also occur by chance; they count only under a ranged key.
func (p *Past) moving() bool {
	rows := len(p.Tracks)
	if rows < 2 || rows < 4 && !p.Ranged {
		return false
	}
	steps, back, previous, active, led := 0, 0, -1, 0, 0
	for j := range p.Tracks[0].RU {
		top, most, all := -1, 0.0, 0.0
		for i := range p.Tracks {
			v := p.Tracks[i].RU[j] + p.Tracks[i].Refused[j]
			if all += v; v > most {
				top, most = i, v
			}
		}
		if top < 0 {
			continue
		}
		active++
		if most > all/2 {
			led++
		}
		if previous >= 0 && top > previous {
			steps++
		} else if previous >= 0 && top < previous {
			back++
		}
		previous = top
	}
	return steps >= min(3, rows-1) && back <= steps/4 && 5*led >= 4*active
}

// period returns the number of steps after which a line of loads repeats itself, found by autocorrelation; 0 if it
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

// RefusedIn returns the number of requests that were refused in the last seconds of the time.
func (p *Past) RefusedIn(seconds int64) (n float64) {
	steps := int((seconds + p.Step - 1) / p.Step)
	for i := range p.Tracks {
		line := p.Tracks[i].Refused
		for _, v := range line[max(0, len(line)-steps):] {
			n += v * float64(p.Step)
		}
	}
	return n
}
