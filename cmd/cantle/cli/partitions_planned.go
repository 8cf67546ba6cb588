package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/cantledb/cantle/bson"
)

// printCapacity prints the RU/s that a collection could have now, and what would be in the way of more, from a reply of
// GetCollection.
func printCapacity(out io.Writer, reply bson.Raw) {
	capacity, ok := reply.Get("capacity").Doc()
	if !ok {
		return
	}
	fmt.Fprintf(out, "\nwithout a split it could have %d RU/s\n", whole(capacity, "throughput"))
	list, _ := capacity.Get("obstacles").Array()
	for v := range list.Values() {
		o, _ := v.Doc()
		text, _ := o.Get("text").Str()
		fmt.Fprintf(out, "in the way of more: %s\n", text)
	}
}

// printPlanned prints the planned changes of a collection's RU/s, from a reply of GetCollection.
func printPlanned(out io.Writer, reply bson.Raw) {
	prepared, _ := reply.Get("prepared").Array()
	schedule, _ := reply.Get("schedule").Array()
	if prepared.Len() == 0 && schedule.Len() == 0 {
		return
	}
	fmt.Fprintln(out)
	for v := range prepared.Values() {
		p, _ := v.Doc()
		state, _ := p.Get("state").Str()
		fmt.Fprintf(out, "prepared: %d RU/s from %s to %s: %s", amountIn(p), instant(p, "from"), instant(p, "to"), state)
		if n := whole(p, "needed"); n > 0 {
			fmt.Fprintf(out, ", %d of %d partitions", min(n, whole(p, "partitions")), n)
		}
		fmt.Fprintln(out)
	}
	zone, _ := reply.Get("timezone").Str()
	for v := range schedule.Values() {
		p, _ := v.Doc()
		cron, _ := p.Get("cron").Str()
		fmt.Fprintf(out, "scheduled: %d RU/s at %s", amountIn(p), cron)
		if zone != "" {
			fmt.Fprintf(out, " (%s)", zone)
		}
		fmt.Fprintf(out, ", next %s\n", instant(p, "next"))
	}
}

// amountIn returns the RU/s of a planned change.
func amountIn(p bson.Raw) int64 {
	if auto, ok := p.Get("autoScaleSettings").Doc(); ok {
		return whole(auto, "maxThroughput")
	}
	return whole(p, "offerThroughput")
}

// instant returns the text of a date in a reply.
func instant(d bson.Raw, name string) string {
	ms, _ := d.Get(name).DateTime()
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}
