package console

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/skew"
)

// report returns the request report of the most expensive shapes; nil if the user may not see it.
func (q *query) report() bson.Raw {
	reply, err := q.runCommand("admin", bson.D{{"customAction", "GetRequestReport"}, {"top", warnedShapes}, {"history", true}})
	if err != nil {
		return nil
	}
	return reply
}

// requestWarnings returns a warning for each expensive query shape of a time in the request report, and for each feature
// that clients used and that an account of Azure Cosmos DB would refuse.
func (q *query) requestWarnings(reply bson.Raw, from, to int64) (out []warning) {
	all := 0.0
	list, _ := reply.Get("requests").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		s := shapeIn(d, from, to)
		all += s.ru
		if w, ok := s.warning(d, from, to, q.isLive(to)); ok {
			out = append(out, w)
		}
	}
	for i := range out {
		out[i].weight = weightRequest + 10*out[i].weight/max(1, all)
	}
	return append(out, refusals(reply)...)
}

// shapeUse holds the use of a query shape in a time.
type shapeUse struct {
	ru            float64
	runs, refused int64
	first, last   int64 // the seconds at which the first and the last minute with a run begin
}

// shapeIn adds up the minutes of a shape in [from, to), in seconds since 1970.
func shapeIn(d bson.Raw, from, to int64) (s shapeUse) {
	minutes, _ := d.Get("history").Array()
	for v := range minutes.Values() {
		m, _ := v.Doc()
		at, _ := m.Get("at").AsInt64()
		if at+60 <= from || at >= to {
			continue
		}
		ru, _ := m.Get("ru").AsFloat()
		n, _ := m.Get("count").AsInt64()
		refused, _ := m.Get("throttled").AsInt64()
		s.ru, s.runs, s.refused = s.ru+ru, s.runs+n, s.refused+refused
		if s.first == 0 {
			s.first = at
		}
		s.last = at
	}
	return s
}

// warning returns the warning about a query shape, d in the request report, if it is expensive in the time. Its weight
// is the RU of the shape.
func (s *shapeUse) warning(d bson.Raw, from, to int64, live bool) (w warning, ok bool) {
	if s.runs == 0 {
		return w, false
	}
	ns, _ := d.Get("ns").Str()
	command, _ := d.Get("command").Str()
	filter, _ := d.Get("filter").Str()
	sort, _ := d.Get("sort").Str()
	lastFanOut, _ := d.Get("lastFanOut").DateTime()
	var reasons []string
	for _, text := range texts(d.Get("warnings")) {
		kind, _, _ := strings.Cut(text, ":")
		if kind == "refused" { // the warning about the partitions counts them
			continue
		}
		if kind == "expensive" && s.ru/float64(s.runs) <= ratelimit.Expensive.Float() || kind == "fan-out" && lastFanOut/1000 < from {
			continue // it was, before this time
		}
		reasons = append(reasons, text)
	}
	if len(reasons) == 0 {
		return w, false
	}
	shape := fmt.Sprintf("%s %s %s %s", ns, command, filter, sort) // by which the view Requests finds it
	w = warning{ID: "request " + shape, Kind: "request", NS: ns, View: "requests", Partition: -1,
		Since: s.first, Last: s.last + 59, Active: !live || s.last+2*lastMinute > to, weight: s.ru, Refused: float64(s.refused)}
	w.Text = fmt.Sprintf("%s %s %s (%s RU in this time)", command, filter, strings.Join(reasons, "; "), skew.Number(s.ru))
	if w.Active {
		w.attribute(originOf(d.Get("callers"), "", "recentPercent", "RU"))
	}
	w.Next = []step{{"Plan and index", "requests", shape}}
	if strings.HasPrefix(reasons[0], "fan-out") {
		w.Next = append(w.Next, step{"Advise a shard key", "whatif", "advise"})
	}
	return w, true
}

// refusals returns a warning for each feature that clients used here and that an account of Azure Cosmos DB would
// refuse.
func refusals(report bson.Raw) (out []warning) {
	account, _ := report.Get("account").Doc()
	version, _ := account.Get("version").Str()
	list, _ := account.Get("refuses").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get("name").Str()
		app, _ := d.Get("appName").Str()
		count, _ := d.Get("count").AsInt64()
		last, _ := d.Get("last").DateTime()
		by := ""
		if app != "" {
			by = " by " + app
		}
		out = append(out, warning{ID: "account " + name + " " + app, Kind: "account", View: "requests", Partition: -1, Active: true, Last: last / 1000, weight: weightAccount,
			Next: []step{}, Text: fmt.Sprintf("An Azure Cosmos DB %s account would refuse %s: used %s%s.", version, name, times(count), by)})
	}
	return out
}
