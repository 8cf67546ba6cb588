package console

import (
	"math"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/history"
)

// replayReply describes how recorded traffic would run with another throughput.
type replayReply struct {
	From       int64   `json:"from"`
	Step       int64   `json:"step"`
	Partitions int     `json:"partitions"`
	RU         float64 `json:"ru"`
	// Refused is the share of the RU that would be refused, from 0 to 1. RefusedColumns is the number of columns
	// (intervals of the history) in which something would be refused.
	Refused        float64 `json:"refused"`
	RefusedColumns int     `json:"refusedColumns"`
	Columns        int     `json:"columns"`
	Peak           float64 `json:"peak"`    // RU/s demanded of the busiest partition
	Balance        float64 `json:"balance"` // the busiest partition divided by the average
	// Enough is the least RU/s, in whole hundreds, with which nothing would be refused. This and all other fields count
	// each recorded refusal as a request of its own.
	Enough float64 `json:"enough"`
	// RefusedLeast and EnoughLeast are Refused and Enough if refused requests that came again are counted once. The
	// truth is between, so for a recording without refusals there is no difference.
	RefusedLeast float64 `json:"refusedLeast"`
	EnoughLeast  float64 `json:"enoughLeast"`
	// PartitionMax is the maximum throughput of one partition in RU/s, 0 for none. If Peak exceeds it, no throughput
	// suffices until the partition is split.
	PartitionMax int64 `json:"partitionMax"`
	// Manual and Autoscale are the amounts that would be billed in the two modes of throughput, in RU/s times hours.
	Manual    float64   `json:"manualRUHours"`
	Autoscale float64   `json:"autoscaleRUHours"`
	Demand    []float64 `json:"demand"`  // RU/s demanded, by column
	Served    []float64 `json:"served"`  // RU/s that would be served
	Busiest   []float64 `json:"busiest"` // RU/s that would be demanded of the busiest partition
	// Verdict is the judgement of the load, as of a heat map's.
	Verdict pattern `json:"verdict"`
	// Recorded reports whether the loads are those of the recorded partitions. Otherwise the partitions are imagined
	// ones: n of equal size, or those of another shard key.
	Recorded bool `json:"recorded"`
	// Key describes the effect of another shard key; nil if the request has none.
	Key *otherKey `json:"key,omitempty"`
	// Incomplete lists servers that did not answer.
	Incomplete []string `json:"incomplete,omitempty"`
}

// partitionsMost bounds the partitions of a replay.
const partitionsMost = 512

// replay computes how the recorded traffic of a collection would run with another throughput, number of partitions or
// shard key: what would be refused, and what would be billed.
func replay(q *query) (any, error) {
	ns, err := q.namespace()
	if err == nil {
		err = q.mayNamespace(ns)
	}
	if err != nil {
		return nil, err
	}
	ru, err := q.number("ru", 400, 1, 1<<40)
	if err != nil {
		return nil, err
	}
	n, err := q.number("partitions", 0, 0, partitionsMost)
	if err != nil {
		return nil, err
	}
	level, from, to, err := q.window()
	if err != nil {
		return nil, err
	}
	other := !q.body.Get("shardKey").IsNullish()
	if other { // statements are recorded for an hour
		from = max(from, to-recordedSeconds)
		level = history.LevelFor(q.History.Second() - from)
	}
	heats, unreachable, err := q.History.Heats(q.Context(), level, ns.String(), from, to, history.RU, history.RefusedLeast, history.RefusedMost, history.Retried)
	if err != nil {
		return nil, err
	}
	used := heats[0]
	parts := int(n)
	if other {
		parts = 0
	}
	most, least := loadsOf(&used, &heats[2], nil, parts), loadsOf(&used, &heats[1], &heats[3], parts)
	if len(most) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "No traffic of %s was recorded in this time range", ns)
	}
	var key *otherKey
	if other {
		if key, most, least, err = q.onOtherKey(ns, &used, most, least, int(n)); err != nil {
			return nil, err
		}
	}
	out, low := simulate(most, used.Columns, float64(ru)), simulate(least, used.Columns, float64(ru))
	out.RefusedLeast, out.EnoughLeast = min(low.Refused, out.Refused), low.Enough
	if coll := q.Server.Cluster.Catalog().Collection(ns); coll != nil {
		out.PartitionMax = q.Server.Cluster.Budgets.Collection(uint64(coll.ID)).Options().ShardMax
	}
	out.Key, out.Incomplete = key, unreachable
	out.Verdict = verdictOf(most, used.Step, float64(ru)/float64(max(1, out.Partitions)))
	out.From, out.Step, out.Recorded = used.From, used.Step, n == 0 && !other
	hours := float64(used.Step) / 3600
	out.Manual = float64(ru) * hours * float64(used.Columns)
	for i := range out.Served {
		out.Autoscale += max(float64(ru)/10, min(out.Served[i], float64(ru))) * hours
	}
	return out, nil
}

// loadsOf returns the demand on each partition in each column of the history, in RU/s: the RU/s used, plus those that
// the refused requests would have used, which the server priced by their shape and value, less those used by requests
// that are among these (retried, nil for none). If n is 0, the partitions are the recorded ones, and columns in which a
// partition did not exist have the value absent. Otherwise n partitions of equal size replace them, and the work of
// each recorded partition is spread evenly over its range.
func loadsOf(used, refused, retried *history.Heat, n int) [][]float64 {
	var out [][]float64
	for range n {
		out = append(out, make([]float64, used.Columns))
	}
	for i := range used.Rows {
		r := &used.Rows[i]
		each := make([]float64, used.Columns)
		if n == 0 {
			for j := range each {
				each[j] = absent
			}
		}
		at := int((r.First - used.From) / used.Step)
		for j, c := range r.Cells {
			each[at+j] = history.Value(c) + cell(refused, i, j)
			if retried != nil {
				each[at+j] = max(0, each[at+j]-cell(retried, i, j))
			}
		}
		if n == 0 {
			out = append(out, each)
			continue
		}
		lo, hi := r.Part.From, r.Part.To
		if hi <= lo { // the values have no distances
			lo, hi = 0, 1
		}
		for k := range out {
			a, b := max(lo, float64(k)/float64(n)), min(hi, float64(k+1)/float64(n))
			for j := range each {
				out[k][j] += each[j] * max(0, b-a) / (hi - lo)
			}
		}
	}
	return out
}

// absent marks a column of the history in which a partition did not exist: not yet, or no longer.
const absent = -1

// cell returns the value of a cell of a history table, 0 if the table has no such cell.
func cell(h *history.Heat, row, column int) float64 {
	if row >= len(h.Rows) || column >= len(h.Rows[row].Cells) {
		return 0
	}
	return history.Value(h.Rows[row].Cells[column])
}

// simulate computes what a throughput of ru RU/s would serve and refuse of the loads. The throughput is divided
// evenly among the partitions of a column, and the demand on a partition beyond its share is refused.
func simulate(loads [][]float64, columns int, ru float64) *replayReply {
	out := &replayReply{Partitions: len(loads), RU: ru, Columns: columns, Demand: make([]float64, columns), Served: make([]float64, columns), Busiest: make([]float64, columns)}
	parts := make([]float64, columns) // number of partitions in each column
	for _, load := range loads {
		for j, v := range load {
			if v != absent {
				parts[j]++
			}
		}
	}
	asked, most, enough := 0.0, 0.0, 0.0
	for _, load := range loads {
		all := 0.0
		for j, v := range load {
			if v == absent {
				continue
			}
			out.Demand[j] += v
			out.Served[j] += min(v, ru/parts[j])
			out.Peak = max(out.Peak, v)
			out.Busiest[j] = max(out.Busiest[j], v)
			enough = max(enough, v*parts[j])
			asked += v
			all += v * parts[j]
		}
		most = max(most, all)
	}
	if columns > 0 {
		out.Partitions = int(parts[columns-1])
	}
	for j := range columns {
		if lost := out.Demand[j] - out.Served[j]; lost > 1e-9 {
			out.Refused += lost
			out.RefusedColumns++
		}
	}
	if asked > 0 {
		out.Refused /= asked
		out.Balance = most / asked
	}
	out.Enough = math.Ceil(enough/100) * 100
	return out
}
