package shardkeys

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/skew"
)

// Print prints the ranking of the shard keys as a table, and explains the best ones in sentences.
func (r *Ranking) Print(out io.Writer) {
	fmt.Fprintf(out, "%s.%s  %s, %s", r.DB, r.Coll, columns.Plural(int(r.Docs.Stored), "document"), columns.Size(r.Docs.StoredBytes))
	if key, ok := r.Current.Get("shardKeyDefinition").Doc(); ok {
		fmt.Fprintf(out, ", shard key %s", ejson.String(key))
	} else {
		fmt.Fprint(out, ", not sharded")
	}
	if r.Docs.Seen < r.Docs.Stored {
		fmt.Fprintf(out, "; %s read", columns.Plural(int(r.Docs.Seen), "document"))
	}
	fmt.Fprint(out, "\n\n")
	if len(r.list) == 0 {
		fmt.Fprintln(out, "no field is suitable as a shard key: a key may not be an array and should be in every document")
		return
	}
	best := math.Inf(1)
	for _, c := range r.list {
		best = min(best, c.ru)
	}
	t := columns.Table{}
	t.Row(" score", "shard key", " distinct", " largest", " bytes", " recent", " targeted", " RU/s", " reach")
	for _, c := range r.list[:min(len(r.list), r.Top)] {
		name := c.name()
		if c.current {
			name += " *"
		}
		targeted, cost, recent := "-", "-", "-"
		if c.targeted >= 0 {
			targeted = percent(c.targeted)
		}
		if best > 0 && !math.IsInf(best, 1) {
			cost = fmt.Sprintf("%.0f%%", 100*c.ru/best)
		}
		if c.newest.docs > 0 {
			recent = fmt.Sprintf("x%.1f", c.fullest(&c.newest, r.Partitions))
		}
		t.Row(fmt.Sprintf("%.0f", c.score), columns.Clip(name, 60), fmt.Sprint(c.distinct), percent(c.spread.largest()),
			fmt.Sprintf("x%.1f", c.fullest(&c.spread, r.Partitions)), recent, targeted, cost, rate(c.reach()))
	}
	t.Print(out)
	if r.currentKey() != nil {
		fmt.Fprintln(out, "* is the current key")
	}
	fmt.Fprintf(out, "\nsimulated on %s\n\n", columns.Plural(r.Partitions, "partition"))
	load, _ := r.Current.Get("load").Doc()
	if kind, _ := load.Get("kind").Str(); skew.Kind(kind).Strained() {
		text, _ := load.Get("text").Str()
		fmt.Fprintf(out, "%s\n\n", wrap("In the last minute: "+text, 100))
	}
	first := r.list[0]
	if r.tooFew() {
		fmt.Fprintf(out, "%s\n\n", wrap(r.unsure(), 100))
	}
	fmt.Fprintf(out, "%s\n", wrap(fmt.Sprintf("Best: %s. %s", first.name(), strings.Join(r.reasons(first), " ")), 100))
	if r.tooFew() && r.currentKey() != nil && !first.current {
		fmt.Fprintln(out, "\nThe command is not printed, because resharding is expensive and too little was recorded.")
	} else {
		fmt.Fprintf(out, "\n  %s\n", r.command(first))
	}
	shown := 0
	others := slices.Clone(r.list[1:])
	slices.SortStableFunc(others, func(a, b *candidate) int { return cmp.Compare(a.parts(), b.parts()) }) // single fields first
	for _, c := range others {
		if bad := r.objections(c); len(bad) > 0 && shown < 5 {
			if shown == 0 {
				fmt.Fprint(out, "\nDrawbacks of the others:\n")
			}
			shown++
			fmt.Fprintf(out, "%s\n", wrap(fmt.Sprintf("- %s: %s", c.name(), strings.Join(bad, "; ")), 100))
		}
	}
}

// unsure describes that too few requests were recorded, and how to change this.
func (r *Ranking) unsure() string {
	const next = ": run the application against this server first, or name its filters with --query."
	switch n := r.recorded(); {
	case n == 0 && len(r.Requests) == 0:
		return "Too little is known: no requests were recorded" + next
	case n == 0:
		return "Too little is known: only inserts were recorded" + next
	default:
		return fmt.Sprintf("Too little is known: only %s other than inserts %s recorded, and at least %d are needed to judge%s",
			columns.Plural(int(n), "request"), map[bool]string{true: "was", false: "were"}[n == 1], requestsLeast, next)
	}
}

// reasons returns sentences on the merits of a key.
func (r *Ranking) reasons(c *candidate) (out []string) {
	out = append(out, fmt.Sprintf("It has %s, of which the largest has %s of the bytes: the largest of %s gets %.1f times the average.",
		columns.Plural(int(c.distinct), "value"), percent(c.spread.largest()), columns.Plural(r.Partitions, "partition"), c.fullest(&c.spread, r.Partitions)))
	if c.newest.docs > 0 {
		out = append(out, fmt.Sprintf("One value has %s of the newest documents: writes can use about %s.", percent(c.newest.largest()), rate(c.reach())))
	}
	if c.targeted >= 0.5 { // otherwise it is an objection
		out = append(out, fmt.Sprintf("%s of the recorded requests, by RU, specify it and visit one partition.", percent(c.targeted)))
	}
	if bad := r.objections(c); len(bad) > 0 {
		out = append(out, "Drawbacks: "+strings.Join(bad, "; ")+".")
	}
	return out
}

// objections returns the disadvantages of a key.
func (r *Ranking) objections(c *candidate) (out []string) {
	n := r.Partitions
	switch {
	case c.distinct <= 1:
		out = append(out, "all documents have the same value")
	case c.distinct < int64(2*n):
		out = append(out, fmt.Sprintf("only %s for %s", columns.Plural(int(c.distinct), "value"), columns.Plural(n, "partition")))
	}
	if c.present < 0.999 {
		out = append(out, fmt.Sprintf("%s of the documents lack it; they would all be in one partition", percent(1-c.present)))
	}
	if hot := c.newest.largest(); c.newest.docs > 0 && hot > 2/float64(n) && hot > 0.1 {
		out = append(out, fmt.Sprintf("one value has %s of the newest documents: its partition is hot while the others idle, and more than %s cannot be used",
			percent(hot), rate(partitionRate/hot)))
	}
	if big := c.spread.largest(); big > 1/float64(n) && big > 0.05 {
		out = append(out, fmt.Sprintf("one value has %s of the bytes; it cannot be divided, and cannot grow beyond %s", percent(big), columns.Size(ratelimit.LogicalBytesMax)))
	}
	if c.targeted >= 0 && c.targeted < 0.5 {
		which := "only " + percent(c.targeted)
		if c.targeted == 0 {
			which = "none"
		}
		out = append(out, fmt.Sprintf("%s of the recorded requests, by RU, specify it: the others would visit all %d partitions", which, n))
	}
	return out
}

// command returns the command that sets the key.
func (r *Ranking) command(c *candidate) string {
	ns := fmt.Sprintf("%q", r.DB+"."+r.Coll)
	var key []string
	for _, f := range c.fields {
		key = append(key, fmt.Sprintf("%q: \"hashed\"", f))
	}
	verb := "shardCollection"
	switch {
	case c.current:
		return "it is the current key: nothing to do"
	case r.currentKey() != nil:
		verb = "reshardCollection"
	}
	suffix := ""
	if c.suffix != "" {
		suffix = ", suffix: " + SuffixSpec(c.suffix, c.buckets).String()
	}
	return fmt.Sprintf("db.adminCommand({%s: %s, key: {%s}%s})", verb, ns, strings.Join(key, ", "), suffix)
}

// percent prints a share.
func percent(f float64) string {
	if f > 0 && f < 0.1 {
		return fmt.Sprintf("%.1f%%", 100*f)
	}
	return fmt.Sprintf("%.0f%%", 100*f)
}

// rate prints RU/s, beyond a million as such.
func rate(f float64) string {
	switch {
	case f >= 1e6:
		return "over 1000k RU/s"
	case f >= 1e4:
		return fmt.Sprintf("%.0fk RU/s", f/1000)
	}
	return fmt.Sprintf("%.0f RU/s", f)
}

// wrap breaks text into lines; those after the first are indented.
func wrap(text string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		if i > 0 {
			if at+1+len(word) > width {
				b.WriteString("\n  ")
				at = 2
			} else {
				b.WriteByte(' ')
				at++
			}
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
