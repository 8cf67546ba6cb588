package skew

import "github.com/cantledb/cantle/ratelimit"

// The constants of the rule. rules.yml contains the same numbers.
const (
	// AtLimit is the use of the busiest second, as a share of the partition's RU/s, from which a partition is at its
	// limit.
	AtLimit = 0.9
	// Room is the average use of the partitions that are not at their limit, as a share of their RU/s, below which
	// these have room.
	Room = 0.6
	// Times is the load of a hot partition, divided by the average load of those below their fair share. A multiple of
	// the average of all would never be reached with two partitions: there, 75 % of the load are three times the rest.
	Times = 3
	// Excess is the share of the load by which a hot partition exceeds its fair share: among many partitions, small
	// loads differ by chance.
	Excess = 0.05
	// Least is the load of the collection, in RU/s, below which no partition is far above its fair share.
	Least = 10
	// busy is the average use, as a share of the RU/s, without which a single busy second with no refusal does not
	// count as at the limit.
	busy = 0.5
)

// Kind is the result of a judgement.
type Kind string

// The kinds. The last three occur only in the judgement of a Past.
const (
	Idle   Kind = "nothing" // no load
	One    Kind = "one"     // a single partition, which has room
	Even   Kind = "even"
	Hot    Kind = "hot"
	Full   Kind = "full" // all partitions are at their limit, or near it
	Moving Kind = "moving"
	Waves  Kind = "waves"
	Ended  Kind = "ended" // there was load, but there is none now
)

// Strained reports whether a partition is hot, or all are at their limit or near it.
func (k Kind) Strained() bool { return k == Hot || k == Full }

// Load is the load of one partition over a time.
type Load struct {
	Part    int     // number of the partition
	RU      float64 // used per second, on average
	Limit   float64 // RU/s of the partition; 0 without a limit
	Busiest float64 // RU used in the busiest second
	Refused float64 // requests refused in the time
}

// atLimit reports whether the partition uses up its RU/s.
func (l *Load) atLimit() bool {
	return l.Limit > 0 && l.Busiest >= AtLimit*l.Limit && (l.Refused >= 0.5 || l.RU >= busy*l.Limit)
}

// Verdict is the judgement of a load.
type Verdict struct {
	Kind       Kind
	Part       int     // the hot partition, otherwise the busiest; -1 without load
	Share      float64 // of Part in the load, from 0 to 1
	Limit      float64 // RU/s of Part; 0 without a limit
	Partitions int
	AtLimit    int     // partitions at their limit
	Others     float64 // average use of the partitions that are not at their limit, as a share of their RU/s
	RU         float64 // of all partitions, per second
	Refused    float64 // requests refused by all partitions in the time
	RefusedTop float64 // of these, by Part
}

// Serious reports whether requests are refused, or will soon be.
func (v *Verdict) Serious() bool { return v.AtLimit > 0 && v.Kind.Strained() }

// minute is the time, in seconds, over which a shorter load is spread before it is compared with Least: a single command
// makes no partition hot.
const minute = 60

// Judge judges the load of all partitions of a collection in some seconds. The list has the partitions without load, too.
func Judge(parts []Load, seconds float64) Verdict {
	v := Verdict{Kind: Idle, Part: -1, Partitions: len(parts)}
	top, used, limits := -1, 0.0, 0.0
	for i := range parts {
		p := &parts[i]
		v.RU += p.RU
		v.Refused += p.Refused
		full := p.atLimit()
		if full {
			v.AtLimit++
		} else {
			used, limits = used+p.RU, limits+p.Limit
		}
		if top < 0 || full && !parts[top].atLimit() || full == parts[top].atLimit() && p.RU > parts[top].RU {
			top = i
		}
	}
	if v.RU == 0 && v.Refused == 0 {
		return v
	}
	t := &parts[top]
	v.Part, v.Limit, v.RefusedTop = t.Part, t.Limit, t.Refused
	if v.RU > 0 {
		v.Share = t.RU / v.RU
	}
	if limits > 0 {
		v.Others = used / limits
	}
	switch {
	case len(parts) == 1 && v.AtLimit == 0:
		v.Kind = One
	case v.AtLimit == len(parts) || v.AtLimit > 0 && v.Others >= Room:
		v.Kind = Full
	case v.AtLimit > 0 || farAbove(parts, t.RU, v.RU, seconds):
		v.Kind = Hot
	default:
		v.Kind = Even
	}
	return v
}

// farAbove reports whether the load of the busiest partition, most, is far above its fair share of the load of all, which
// lasted some seconds.
func farAbove(parts []Load, most, all, seconds float64) bool {
	fair := all / float64(len(parts))
	below, n := 0.0, 0
	for i := range parts {
		if parts[i].RU <= fair {
			below, n = below+parts[i].RU, n+1
		}
	}
	return all*min(1, seconds/minute) >= Least && n > 0 && most >= Times*below/float64(n) && (most-fair)/all >= Excess
}

// leastSeconds is the least time over which Stats spreads a load, so that the first busy second of a new partition is no
// load of a minute.
const leastSeconds = 10

// Stats returns the loads of the last minute from the statistics of a collection's budget, and the time in seconds over
// which they are averages. The loads of partitions whose statistics are younger are those since then.
func Stats(list []ratelimit.BucketStats) (out []Load, longest float64) {
	out = make([]Load, 0, len(list))
	for i := range list {
		s := &list[i]
		seconds := float64(minute)
		if s.Seconds > 0 {
			seconds = min(minute, max(leastSeconds, float64(s.Seconds)))
		}
		longest = max(longest, seconds)
		l := Load{Part: s.Shard, RU: (s.LastMinute + s.PeersSpent).Float() / seconds, Limit: s.Limit.Float(), Refused: float64(s.ThrottledMinute)}
		l.Busiest = float64(s.Normalized) / 100 * l.Limit
		out = append(out, l)
	}
	return out, longest
}
