package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/cantledb/cantle/cmd/cantle/columns"
)

// Report prints the progress and the result of a run: tables, or one JSON object at the end.
type Report struct {
	Out  io.Writer
	JSON bool

	seconds []jsonSecond
	printed int // lines of seconds
}

// jsonLatencies are latencies of the JSON object, in milliseconds.
type jsonLatencies struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// latenciesOf returns latencies for the JSON object.
func latenciesOf(l *latencies) jsonLatencies {
	return jsonLatencies{P50: ms(l.quantile(0.5)), P95: ms(l.quantile(0.95)), P99: ms(l.quantile(0.99)), Max: ms(l.max)}
}

// jsonSecond is a second of the JSON object, with the latencies of the operations that ended in it.
type jsonSecond struct {
	At    float64 `json:"at"`
	Count int64   `json:"operations"`
	jsonLatencies
	RU      *float64 `json:"ru,omitempty"`
	Refused int64    `json:"refused"`
	Failed  int64    `json:"failed"`
}

// jsonOperation is a kind of operations of the JSON object.
type jsonOperation struct {
	Operation string  `json:"operation"`
	Count     int64   `json:"count"`
	PerSecond float64 `json:"perSecond"`
	jsonLatencies
	RU      *float64 `json:"ru,omitempty"`
	RUEach  *float64 `json:"ruEach,omitempty"`
	Refused int64    `json:"refused"`
	Retries int64    `json:"retries"`
	Failed  int64    `json:"failed"`
}

// ms returns milliseconds.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *Report) printf(format string, args ...any) {
	if !r.JSON {
		fmt.Fprintf(r.Out, format, args...)
	}
}

// begin prints what will be measured.
func (r *Report) begin(b *Bench) {
	o := &b.options
	r.printf("workload %s: %s; %s, %s, %s\n", b.mix.Name, b.mix.Does, o.Distribution, columns.Plural(int(o.Documents), "document"), columns.Plural(o.Threads, "thread"))
}

// loaded prints the cost of loading.
func (r *Report) loaded(b *Bench) {
	r.printf("loaded into %s", b.options.Namespace)
	if b.loadedRU > 0 {
		r.printf(" for %s RU", columns.Amount(b.loadedRU))
	}
	r.printf("\n\n")
}

// Widths of the columns of a second's line.
const secondFormat = "%6s %10s %9s %9s %9s %9s"

// second prints the line of a second that ends at a time; took is about a second, more on a busy machine.
func (r *Report) second(at, took time.Duration, t *tally, priced bool) {
	x := jsonSecond{At: at.Round(100 * time.Millisecond).Seconds(), Count: t.done, jsonLatencies: latenciesOf(&t.latencies), Refused: t.refused, Failed: t.failed}
	if priced {
		x.RU = &t.ru
	}
	if r.JSON {
		if len(r.seconds) < secondsKept {
			r.seconds = append(r.seconds, x)
		}
		return
	}
	if r.printed%20 == 0 {
		r.printf(secondFormat, "time", "op/s", "p50 ms", "p95 ms", "p99 ms", "max ms")
		if priced {
			r.printf(" %10s %9s", "RU/s", "refused")
		}
		r.printf("\n")
	}
	r.printed++
	f := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	r.printf(secondFormat, fmt.Sprintf("%.0f s", at.Seconds()), fmt.Sprintf("%.0f", float64(t.done)/took.Seconds()), f(x.P50), f(x.P95), f(x.P99), f(x.Max))
	if priced {
		r.printf(" %10.1f %9d", t.ru/took.Seconds(), t.refused)
	}
	r.printf("\n")
}

// end prints the result.
func (r *Report) end(b *Bench, took time.Duration) {
	sum, names := b.counts.total()
	var list []jsonOperation
	for _, name := range names {
		list = append(list, operationOf(name, b.counts.all[name], took, b.counts.priced))
	}
	list = append(list, operationOf("all", &sum, took, b.counts.priced))
	if r.JSON {
		r.endJSON(b, took, list)
		return
	}
	if r.printed > 0 {
		r.printf("\n")
	}
	t := columns.Table{}
	head := []string{"operation", " count", " op/s", " p50 ms", " p95 ms", " p99 ms", " max ms"}
	if b.counts.priced {
		head = append(head, " RU each", " RU", " RU/s")
	}
	t.Row(append(head, " refused", " retries", " failed")...)
	for _, x := range list {
		row := []string{x.Operation, fmt.Sprint(x.Count), fmt.Sprintf("%.1f", x.PerSecond)}
		for _, v := range []float64{x.P50, x.P95, x.P99, x.Max} {
			row = append(row, fmt.Sprintf("%.2f", v))
		}
		if x.RU != nil {
			row = append(row, fmt.Sprintf("%.2f", *x.RUEach), fmt.Sprintf("%.1f", *x.RU), fmt.Sprintf("%.1f", *x.RU/took.Seconds()))
		}
		t.Row(append(row, fmt.Sprint(x.Refused), fmt.Sprint(x.Retries), fmt.Sprint(x.Failed))...)
	}
	t.Print(r.Out)
	if b.options.Rate > 0 && sum.done > 0 {
		r.printf("\nLatencies count from the time at which an operation was due at %s op/s.\n", columns.Amount(b.options.Rate))
	}
	if b.counts.lastError != nil {
		r.printf("\nThe last error: %v\n", b.counts.lastError)
	}
}

// operationOf summarises the operations of a kind.
func operationOf(name string, t *tally, took time.Duration, priced bool) jsonOperation {
	x := jsonOperation{Operation: name, Count: t.done, PerSecond: float64(t.done) / took.Seconds(), jsonLatencies: latenciesOf(&t.latencies),
		Refused: t.refused, Retries: t.retries, Failed: t.failed}
	if priced {
		each := t.ru / float64(max(1, t.done))
		x.RU, x.RUEach = &t.ru, &each
	}
	return x
}

// endJSON prints the JSON object.
func (r *Report) endJSON(b *Bench, took time.Duration, list []jsonOperation) {
	all := struct {
		Workload     string          `json:"workload"`
		Distribution string          `json:"distribution"`
		Collection   string          `json:"collection"`
		Documents    int64           `json:"documents"`
		Threads      int             `json:"threads"`
		Rate         float64         `json:"rate"`
		Seconds      float64         `json:"seconds"`
		LoadedRU     *float64        `json:"loadedRU,omitempty"`
		LastError    string          `json:"lastError,omitempty"`
		Operations   []jsonOperation `json:"operations"`
		EachSecond   []jsonSecond    `json:"eachSecond"`
	}{b.mix.Name, b.options.Distribution, b.options.Namespace, b.options.Documents, b.options.Threads, b.options.Rate, took.Seconds(), nil, "", list, r.seconds}
	if b.counts.priced {
		all.LoadedRU = &b.loadedRU
	}
	if b.counts.lastError != nil {
		all.LastError = b.counts.lastError.Error()
	}
	if all.EachSecond == nil {
		all.EachSecond = []jsonSecond{}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(err) // it has only numbers and texts
	}
	fmt.Fprintf(r.Out, "%s\n", text)
}
