package console

import (
	"encoding/json"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/history"
)

// recordedSeconds is the time for which the server keeps recorded statements, in seconds.
const recordedSeconds = 3600

// otherKey describes how recorded statements would run under another shard key.
type otherKey struct {
	ShardKey json.RawMessage `json:"shardKey"`
	// Statements counts all statements in the time range, Samples those of them that were recorded. Cost is the cost
	// of all statements under the other key, divided by their actual cost.
	Statements int64   `json:"statements"`
	Samples    int64   `json:"samples"`
	Cost       float64 `json:"cost"`
	// GoTo has the parts of the work, from 0 to 1, that would go to one partition, to some partitions, to all, and to
	// partitions that the recorded statement does not reveal.
	GoTo json.RawMessage `json:"goTo"`
	// Values are the values of the other shard key with the most work. The share of each is its part of the work.
	Values json.RawMessage `json:"values"`
	// Shares are the parts of the work, from 0 to 1, that each partition would have under the other key.
	Shares []float64 `json:"shares"`
	// Guessed is the part of the work, from 0 to 1, done in minutes without recorded statements, which is distributed
	// as the average minute.
	Guessed float64 `json:"guessed"`
	// Notes are sentences for the user about the method of the computation and its limits.
	Notes []string `json:"notes"`
}

// recorded returns the fields that recorded statements fix.
func recorded(q *query) (any, error) {
	return q.custom("GetRecordedTraffic")
}

// onOtherKey computes the loads that n partitions of another shard key would have (n = 0: the present number of
// partitions). It divides the work of each column of the history, given by most and least, as distribute does. It
// returns a description of the effect on most, and the RU/s by partition and column for both.
// Errors: FailedToParse (9) for the shard key; BadValue (2) if no statement was recorded in this time; the errors of
// GetRecordedTraffic.
func (q *query) onOtherKey(ns collection.Namespace, used *history.Heat, most, least [][]float64, n int) (k *otherKey, loads, leastLoads [][]float64, err error) {
	spec, err := q.document("shardKey")
	if err != nil {
		return nil, nil, nil, err
	}
	command := bson.D{{"customAction", "GetRecordedTraffic"}, {"collection", ns.Coll}, {"shardKey", spec}, {"from", used.From},
		{"to", used.From + int64(used.Columns)*used.Step}}
	if n > 0 {
		command = append(command, bson.E{"partitions", int64(n)})
	}
	reply, err := q.runCommand(ns.DB, command)
	if err != nil {
		return nil, nil, nil, err
	}
	k = &otherKey{ShardKey: jsonOf(reply, "shardKey"), GoTo: jsonOf(reply, "goTo"), Values: jsonOf(reply, "values")}
	k.Statements, _ = reply.Get("statements").AsInt64()
	k.Samples, _ = reply.Get("samples").AsInt64()
	k.Cost, _ = reply.Get("cost").AsFloat()
	parts, _ := reply.Get("partitions").AsInt64()
	if k.Samples == 0 {
		return nil, nil, nil, mongoerr.New(mongoerr.BadValue, "No statements on %s are recorded in this time range: the server keeps a sample of each minute in memory for one hour", ns)
	}
	minutes, average := minutesOf(reply, int(parts))
	leastLoads, _, _ = distribute(used, least, minutes, average)
	loads, k.Shares, k.Guessed = distribute(used, most, minutes, average)
	goTo, _ := reply.Get("goTo").Doc()
	k.explain(goTo, int(parts), spec.Len())
	for _, host := range texts(reply.Get("incomplete")) {
		k.Notes = append(k.Notes, fmt.Sprintf("Server %s did not answer: the statements it has recorded are missing.", host))
	}
	return k, loads, leastLoads, nil
}

// jsonOf returns a field of a reply as JSON.
func jsonOf(reply bson.Raw, name string) json.RawMessage {
	v := reply.Get(name)
	if list, ok := v.Array(); ok && v.Type == bson.TypeArray {
		return listOf(list)
	}
	d, _ := v.Doc()
	return json.RawMessage(ejson.String(d))
}

// minutesOf reads from a reply of GetRecordedTraffic how the RU of each minute divides among the partitions: each
// partition's part of the minute, from 0 to 1, by the minute's first second; and the average over all minutes,
// weighted by their RU.
func minutesOf(reply bson.Raw, parts int) (by map[int64][]float64, average []float64) {
	by, average = map[int64][]float64{}, make([]float64, parts)
	all := 0.0
	list, _ := reply.Get("minutes").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		at, _ := d.Get("at").AsInt64()
		ru, _ := d.Get("ru").AsFloat()
		if ru <= 0 {
			continue
		}
		all += ru
		loads := make([]float64, 0, parts)
		each, _ := d.Get("loads").Array()
		for x := range each.Values() {
			f, _ := x.AsFloat()
			average[len(loads)] += f
			loads = append(loads, f/ru)
		}
		by[at] = loads
	}
	for i := range average {
		average[i] /= max(1e-9, all)
	}
	return by, average
}

// distribute divides the RU/s of each column of the history over the partitions of the other key, as the statements
// recorded in that minute divide, or as the average does if none were recorded. It returns the RU/s by partition and
// column, and the values of the fields Shares and Guessed of otherKey.
func distribute(used *history.Heat, was [][]float64, minutes map[int64][]float64, average []float64) (out [][]float64, shares []float64, guessed float64) {
	out = make([][]float64, len(average))
	for p := range out {
		out[p] = make([]float64, used.Columns)
	}
	shares = make([]float64, len(average))
	all, fallen := 0.0, 0.0
	for j := range used.Columns {
		ru := 0.0
		for _, row := range was {
			ru += max(0, row[j])
		}
		at := used.From + int64(j)*used.Step
		loads := minutes[at-at%60]
		if loads == nil {
			loads = average
			guessed += ru
		}
		all += ru
		for p, part := range loads {
			out[p][j] = ru * part
			shares[p] += ru * part
			fallen += ru * part
		}
	}
	if all > 0 {
		guessed /= all
	}
	for p := range shares {
		shares[p] /= max(1e-9, fallen)
	}
	return out, shares, guessed
}

// explain adds notes for the user about the method of the computation and its limits.
func (k *otherKey) explain(goTo bson.Raw, parts, fields int) {
	part := func(name string) float64 { f, _ := goTo.Get(name).AsFloat(); return f }
	whole := "all of them"
	if k.Samples < k.Statements {
		whole = fmt.Sprintf("a sample of %d of them", k.Samples)
	}
	k.Notes = append(k.Notes, fmt.Sprintf("The server executed %d statements in this time range and recorded %s, with their charges and the values they specify.", k.Statements, whole))
	if x := part("all"); x > 0.005 {
		k.Notes = append(k.Notes, fmt.Sprintf("%.0f %% of the RU were spent by statements that do not specify the key. They would visit all %d partitions and be charged for each. Where their documents are is unknown, so the load is assumed to be even.", 100*x, parts))
	}
	if x := part("some"); x > 0.005 {
		k.Notes = append(k.Notes, fmt.Sprintf("%.0f %% of the RU were spent by statements that specify several values or a part of the key; it is divided evenly among the partitions of these values.", 100*x))
	}
	if x := part("unknown"); x > 0.005 {
		k.Notes = append(k.Notes, fmt.Sprintf("For %.0f %% of the RU the value is unknown, because the documents have more fields than are recorded (16): the load is assumed to be even.", 100*x))
	}
	if fields > 1 {
		k.Notes = append(k.Notes, "The partitions are assumed to be those that splits would make after this load, so this is the best possible result.")
	}
	if k.Guessed > 0.005 {
		k.Notes = append(k.Notes, fmt.Sprintf("%.0f %% of the RU were spent in minutes without recorded statements; they are distributed like the others.", 100*k.Guessed))
	}
	k.Notes = append(k.Notes, "A burst of less than a minute on one value is averaged over its minute. The cost of moving the documents is not included.")
}
