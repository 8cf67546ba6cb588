package top

import (
	"slices"
)

// view holds what is shown.
type view struct {
	ns          string // "" for all collections
	at          int    // index in metrics
	span        int64  // shown, in seconds up to now
	byLoad      bool   // rows are ordered by load, otherwise by their ranges
	resting     bool   // paused: no requests are sent
	help        bool
	scroll      int
	collections []string // collections, to choose from
	ended       bool
}

// metrics are those that a heat map can show.
var metrics = []struct{ name, unit string }{
	{"ru", "RU/s"}, {"reads", "reads/s"}, {"writes", "documents/s"}, {"refused", "refused/s"}, {"failed", "failed/s"}, {"kib", "KiB/s"}, {"latency", "ms"},
}

// spans are the durations that can be shown, in seconds.
var spans = []int64{60, 300, 900, 3600, 21600, 86400, 604800}

func (v *view) metric() string { return metrics[v.at].name }

// helpLines describe the keys.
var helpLines = []string{
	"m M         another metric: request units, reads, writes, refusals, failures, bytes, latency",
	"c C         another collection; a: all of them",
	"+ -         a longer or shorter time range: a minute to seven days",
	"s           sort partitions by load or by range",
	"↑ ↓ j k     other partitions",
	"space       pause or continue",
	"? or h      this help",
	"q, Ctrl-C   end",
}

// press handles a key.
func (v *view) press(key string) {
	turn := func(by int) { v.at = (v.at + by + len(metrics)) % len(metrics) }
	switch key {
	case "q", "\x03", "\x04":
		v.ended = true
	case "m":
		turn(1)
	case "M":
		turn(-1)
	case "c":
		v.choose(1)
	case "C":
		v.choose(-1)
	case "a":
		v.ns, v.scroll = "", 0
	case "+", "=":
		v.span = spans[min(len(spans)-1, slices.Index(spans, v.span)+1)]
	case "-":
		v.span = spans[max(0, slices.Index(spans, v.span)-1)]
	case "s":
		v.byLoad = !v.byLoad
	case "j", "\x1b[B":
		v.scroll++
	case "k", "\x1b[A":
		v.scroll = max(0, v.scroll-1)
	case " ":
		v.resting = !v.resting
	case "?", "h":
		v.help = !v.help
	}
}

// choose moves the selection by 1 or -1 in the list of collections, round its ends. The first entry of the list, "",
// stands for all collections.
func (v *view) choose(by int) {
	all := append([]string{""}, v.collections...)
	at := max(0, slices.Index(all, v.ns))
	v.ns, v.scroll = all[(at+by+len(all))%len(all)], 0
}

// setCollections stores the collections of a picture of all collections.
func (v *view) setCollections(p *picture) {
	if v.ns != "" {
		return
	}
	v.collections = v.collections[:0]
	for _, r := range p.Heat.Rows {
		if !slices.Contains(v.collections, r.NS) {
			v.collections = append(v.collections, r.NS)
		}
	}
	slices.Sort(v.collections)
}
