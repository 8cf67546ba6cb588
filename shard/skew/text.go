package skew

import (
	"fmt"
	"strconv"
	"strings"
)

// Text describes the verdict in a sentence or two, with the change that would help. For the kinds that only a Pattern
// has, Pattern.Text does.
func (v *Verdict) Text() string {
	switch v.Kind {
	case Idle:
		return "No load in this time range."
	case One:
		return "There is one partition: a shard key and more RU/s would distribute the load over several." + beside(v.Refused)
	case Full:
		if v.Partitions == 1 {
			return fmt.Sprintf("The only partition is at its limit of %s RU/s%s: raise the RU/s; beyond the maximum of one partition, use a shard key.", Number(v.Limit), refusals(v.Refused))
		}
		if v.AtLimit < v.Partitions {
			return fmt.Sprintf("%d of %d partitions are at their limit%s, and the others use %.0f %% of theirs: more RU/s would help.", v.AtLimit, v.Partitions, refusals(v.Refused), 100*v.Others)
		}
		return fmt.Sprintf("All %d partitions are at their limit%s: more RU/s would help.", v.Partitions, refusals(v.Refused))
	case Hot:
		return v.hot()
	}
	if v.RU < Least && v.Partitions > 1 {
		return fmt.Sprintf("A load of %s RU/s, too small to be judged: the busiest of %d partitions has %.1f times the average.", Number(v.RU), v.Partitions, v.Share*float64(v.Partitions)) + beside(v.Refused)
	}
	return fmt.Sprintf("Even: the busiest of %d partitions has %.1f times the average.", v.Partitions, v.Share*float64(v.Partitions)) + beside(v.Refused)
}

// beside returns a sentence about refused requests of partitions that are not at their limit: those of a throughput
// bucket, or of the throughput that the collections of a database share.
func beside(n float64) string {
	if n < 0.5 {
		return ""
	}
	were := "were"
	if n < 1.5 {
		were = "was"
	}
	return fmt.Sprintf(" %s %s refused, by a throughput bucket, the database's shared throughput, or in single seconds.", Requests(n), were)
}

// hot describes a hot partition.
func (v *Verdict) hot() string {
	const next = " Look at its most expensive values: if one value causes the load, only another shard key (or a suffix) can divide it."
	text := fmt.Sprintf("Partition %d has %.0f %% of the load of %d partitions, %.1f times the average.", v.Part, 100*v.Share, v.Partitions, v.Share*float64(v.Partitions))
	if v.AtLimit == 0 {
		return text + next
	}
	which := "It is"
	if v.AtLimit > 1 {
		which = fmt.Sprintf("It and %d more are", v.AtLimit-1)
	}
	return fmt.Sprintf("%s %s at the limit of %s RU/s%s, while the others use %.0f %% of their RU/s.%s", text, which, Number(v.Limit), refusals(v.Refused), 100*v.Others, next)
}

// refusals returns a part of a sentence about a number of refused requests, "" for none.
func refusals(n float64) string {
	if n < 0.5 {
		return ""
	}
	return " and refused " + Requests(n)
}

// Requests prints a number of requests that is at least 0.5. The history has rounded numbers.
func Requests(n float64) string {
	if n < 1.5 {
		return "1 request"
	}
	return Number(n) + " requests"
}

// Text describes the pattern in a sentence or two, with the change that would help.
func (p *Pattern) Text() string {
	switch p.Kind {
	case Ended:
		was := fmt.Sprintf("Before, the busiest of %d partitions had %.1f times the average.", p.Partitions, p.Share*float64(p.Partitions))
		switch p.Cooled.Kind {
		case Hot:
			was = fmt.Sprintf("Before, partition %d was hot, with %.0f %% of the load of %d partitions.", p.Part, 100*p.Share, p.Partitions)
		case Full:
			was = "Before, all partitions were at their limit."
		case One:
			was = "There is one partition."
		}
		return fmt.Sprintf("No load for %s. %s", Duration(int64(p.Steps-1-p.Last)*p.step), was)
	case Moving:
		return "A diagonal: the load moves along the key, one partition at a time, as with ascending keys. A hashed key would spread it."
	case Waves:
		text := fmt.Sprintf("Waves: the load repeats every %s. With autoscale you pay only for the waves; burst capacity may absorb short ones.", Duration(p.Period))
		if p.AtLimit > 0 {
			text += fmt.Sprintf(" At their height, %d of %d partitions are at their limit%s.", p.AtLimit, p.Partitions, refusals(p.Refused))
		}
		return text
	case Hot:
		return "A hot line: p" + strings.TrimPrefix(p.Verdict.Text(), "P")
	}
	if p.Cooled.Kind == Hot {
		return fmt.Sprintf("%s Earlier in this time range, partition %d was hot.", p.Verdict.Text(), p.Cooled.Part)
	}
	return p.Verdict.Text()
}

// Number prints a number of requests or RU/s with three digits that matter, and a comma between thousands.
func Number(v float64) string {
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatInt(int64(v+0.5), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Duration prints seconds in a readable unit.
func Duration(seconds int64) string {
	switch {
	case seconds == 1:
		return "1 second"
	case seconds < 120:
		return fmt.Sprintf("%d seconds", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%d minutes", (seconds+30)/60)
	}
	return fmt.Sprintf("%.1f hours", float64(seconds)/3600)
}
