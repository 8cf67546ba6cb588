package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/flags"
)

// Limits of the options.
const (
	threadsMax   = 1_000
	documentsMax = 10_000_000
	fieldsMax    = 200
	fieldSizeMax = 100_000
	documentMax  = 1_000_000 // bytes of all fields of a document
	durationMax  = 24 * time.Hour
	retriesMax   = 1_000
	secondsKept  = 3_600 // in the JSON object
)

// Options are the flags of cantle bench.
type Options struct {
	Mix          string
	Distribution string
	Threads      int
	Rate         float64 // operations per second of all threads; 0 is as fast as possible
	Duration     time.Duration
	Operations   int64 // 0: until Duration
	Documents    int64
	Fields       int
	FieldSize    int
	Namespace    string
	Throughput   int
	Retries      int
	Append, Drop bool
	JSON         bool
	Seed         uint64
}

// Flags defines the flags.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.StringVar(&o.Mix, "workload", "a", "`name` of the mix of operations, from the list above")
	f.StringVar(&o.Distribution, "distribution", "", "`name` of the distribution by which operations choose documents, instead of the workload's own: "+strings.Join(Distributions, ", "))
	f.IntVar(&o.Threads, "threads", 8, "`number` of operations that run at once, each on a connection of its own")
	f.Float64Var(&o.Rate, "rate", 0, "`operations` per second of all threads together; 0 sends the next when the last is answered")
	f.DurationVar(&o.Duration, "duration", 10*time.Second, "time of the measurement, after the documents were loaded")
	f.Int64Var(&o.Operations, "operations", 0, "stop after this `number` of operations; 0 only stops after --duration")
	f.Int64Var(&o.Documents, "documents", 1_000, "`number` of documents to load first")
	f.IntVar(&o.Fields, "fields", 10, "`number` of text fields of a document")
	f.IntVar(&o.FieldSize, "field-size", 100, "`bytes` of each of them")
	f.StringVar(&o.Namespace, "collection", "bench.ycsb", "`database.collection` to use")
	f.IntVar(&o.Throughput, "throughput", 0, "`RU/s` of the collection, if this creates it; 0 is the server's default")
	f.IntVar(&o.Retries, "retries", 10, "`number` of times that a throttled request (error 16500) is sent again, after the time that the server names")
	f.BoolVar(&o.Append, "append", false, "use the collection even if it has documents already")
	f.BoolVar(&o.Drop, "drop", false, "drop the collection at the end, if this created it")
	f.BoolVar(&o.JSON, "json", false, "print one JSON object at the end instead of tables")
	f.Uint64Var(&o.Seed, "seed", 1, "`number` that chooses the sequence of random choices")
	flags.Choose(f, "workload", mixNames()...)
	flags.Choose(f, "distribution", Distributions...)
}

// check checks the ranges of the options.
func (o *Options) check() (*Mix, error) {
	mix, ok := MixNamed(o.Mix)
	if !ok {
		return nil, fmt.Errorf("there is no workload %q; choose one of %s", o.Mix, strings.Join(mixNames(), ", "))
	}
	if o.Distribution == "" {
		o.Distribution = mix.distribution
	}
	if !slices.Contains(Distributions, o.Distribution) {
		return nil, fmt.Errorf("--distribution is one of %s", strings.Join(Distributions, ", "))
	}
	for _, x := range []struct {
		name          string
		value, lo, hi int64
	}{
		{"--threads", int64(o.Threads), 1, threadsMax}, {"--documents", o.Documents, 1, documentsMax}, {"--fields", int64(o.Fields), 1, fieldsMax},
		{"--field-size", int64(o.FieldSize), 1, fieldSizeMax}, {"--fields times --field-size", int64(o.Fields) * int64(o.FieldSize), 1, documentMax},
		{"--operations", o.Operations, 0, 1 << 40}, {"--retries", int64(o.Retries), 0, retriesMax}, {"--throughput", int64(o.Throughput), 0, 1 << 30},
	} {
		if x.value < x.lo || x.value > x.hi {
			return nil, fmt.Errorf("%s is from %d to %d", x.name, x.lo, x.hi)
		}
	}
	switch {
	case o.Duration <= 0 || o.Duration > durationMax:
		return nil, fmt.Errorf("--duration is from 1ns to %s", durationMax)
	case o.Rate < 0 || o.Rate > 10_000_000:
		return nil, fmt.Errorf("--rate is from 0 to 10000000")
	case o.Append && o.Drop:
		return nil, fmt.Errorf("--drop drops only a collection that cantle bench created; it cannot be used with --append")
	}
	return mix, nil
}
