package console

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/shard/skew"
)

// partitionWarnings returns a warning for each collection that had a hot partition, was at its limit or refused
// requests in a time. It returns nil if the history cannot be read.
func (q *query) partitionWarnings(level int, from, to int64) (out []warning) {
	heats, _, err := q.History.Heats(q.Context(), level, "", from, to, history.RU, history.Refused)
	if err != nil {
		return nil
	}
	asked, live := 0, q.isLive(to)
	for _, j := range q.judge(&heats[0], &heats[1], live) {
		w, ok := j.warning(heats[0].From, live)
		if !ok {
			continue
		}
		if w.Kind == "hot" && w.Active && asked < warnedValues {
			asked++
			q.addValue(&w)
		}
		out = append(out, w)
	}
	return out
}

// warning returns the warning about the partitions of a collection, if there is a reason for one. from is the second
// of the first step of the history.
func (j *judged) warning(from int64, live bool) (w warning, ok bool) {
	w = warning{NS: j.ns, View: "heat", Partition: j.Part, Active: true}
	v, time := j.Verdict, "in the last minute"
	if live {
		w.Refused = j.past.RefusedIn(lastMinute)
	} else {
		w.Refused, time = j.past.RefusedIn(int64(j.Steps)*j.past.Step), "in this time"
	}
	if j.Kind == skew.Ended || j.Kind != skew.Hot && !v.Serious() && j.Cooled.Kind == skew.Hot {
		if v = j.Cooled; v.Kind != skew.Hot && !v.Serious() && v.Refused == 0 {
			return w, false
		}
		w.Active, w.Partition, w.Refused, time = false, v.Part, v.Refused, "in this time"
	}
	if w.Active && live && v.Kind != skew.Hot && w.Refused == 0 && !v.Serious() { // the refusals have ended
		w.Refused, w.Active, time = j.past.RefusedIn(int64(j.Steps)*j.past.Step), false, "in this time"
	}
	if j.First >= 0 {
		w.Since, w.Last = from+int64(j.First)*j.past.Step, from+int64(j.Last+1)*j.past.Step-1
	}
	refused := ""
	if w.Refused >= 0.5 {
		refused = fmt.Sprintf("%s refused %s", skew.Requests(w.Refused), time)
	}
	scale, requests := step{"Scale", "partitions", ""}, step{"Which requests?", "requests", ""}
	switch {
	case v.Kind == skew.Hot:
		w.Kind, w.weight = "hot", weightUneven
		w.Text = fmt.Sprintf("partition %d has %.0f %% of the load of %d partitions", v.Part, 100*v.Share, v.Partitions)
		w.Next = []step{{"Advise a shard key", "whatif", "advise"}, requests}
		if v.Serious() {
			w.weight = weightHot
			w.Text += fmt.Sprintf(" and is at its limit of %s RU/s, while the others use %.0f %%", skew.Number(v.Limit), 100*v.Others)
			w.Next = append(w.Next, scale)
		}
		w.ID = fmt.Sprintf("hot %s %d", j.ns, v.Part)
	case v.Serious():
		w.Kind, w.weight, w.ID = "throttled", weightFull, "full "+j.ns
		w.Text = fmt.Sprintf("all %d partitions are at their limit or near it", v.Partitions)
		if v.Partitions == 1 {
			w.Text = fmt.Sprintf("the only partition is at its limit of %s RU/s", skew.Number(v.Limit))
		}
		w.Next = []step{scale, {"What if", "whatif", ""}, requests}
	case w.Refused >= 0.5:
		w.Kind, w.weight, w.ID, w.Partition = "throttled", weightRefused, "refused "+j.ns, -1
		w.Text = "requests were refused, although no partition is at its limit now"
		w.Next = []step{requests, scale}
	default:
		return w, false
	}
	if refused != "" {
		w.Text += ": " + refused
	}
	return w, true
}

// addValue adds the most expensive shard key value of a hot partition to its warning, if the user may read it.
func (q *query) addValue(w *warning) {
	ns := collection.ParseNamespace(w.NS)
	reply, err := q.runCommand(ns.DB, bson.D{{"customAction", "GetPartitions"}, {"collection", ns.Coll}, {"top", valuesOfShare}})
	if err != nil {
		return
	}
	list, _ := reply.Get("partitions").Array()
	for v := range list.Values() {
		p, _ := v.Doc()
		if id, _ := p.Get("id").Str(); id == shard.ID(w.Partition).String() {
			w.addValue(p.Get("hottestByRU"))
		}
	}
}

// valuesOfShare is the number of values of a partition whose RU are summed to compute the share of the largest.
const valuesOfShare = 64

// addValue adds the most expensive shard key value of a hot partition, with the application and user that use it most,
// to the partition's warning, as far as the user may see them.
func (w *warning) addValue(hottest bson.Value) {
	all, most, top := 0.0, 0.0, bson.Raw(nil)
	list, _ := hottest.Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		ru, _ := d.Get("ru").AsFloat()
		if all += ru; ru > most {
			most, top = ru, d
		}
	}
	if top == nil {
		return
	}
	w.Share = most / all
	if key, ok := top.Get("key").Doc(); ok {
		w.Value = ejson.String(key)
		w.Text += fmt.Sprintf("; %s takes %.0f %% of it", shortValue(key), 100*w.Share)
	} else {
		w.Text += fmt.Sprintf("; one value takes %.0f %% of it", 100*w.Share)
	}
	w.attribute(originOf(top.Get("callers"), "", "ruPercent", "RU"))
}

// shortValue prints the shard key of a value, in at most 60 bytes: the value alone if the key has one field.
func shortValue(key bson.Raw) string {
	text := ejson.String(key)
	if first, ok := key.First(); ok && key.Len() == 1 {
		text = strings.Trim(ejson.ValueString(first.Value), `"`)
	}
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:57], "") + "…"
	}
	return text
}
