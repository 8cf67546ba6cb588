package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// Bench is one run of cantle bench.
type Bench struct {
	Run remote.Run

	options  Options
	mix      *Mix
	db       string
	commands commands
	counts   counts
	loadedRU float64
	inserted atomic.Int64 // documents that are inserted, also by operations that are not answered yet
	started  atomic.Int64 // operations
}

// New makes a run.
// Errors: options out of range.
func New(run remote.Run, o Options) (*Bench, error) {
	mix, err := o.check()
	if err != nil {
		return nil, err
	}
	db, coll, ok := strings.Cut(o.Namespace, ".")
	if !ok || db == "" || coll == "" {
		return nil, errors.New("--collection is a database.collection, such as bench.ycsb")
	}
	return &Bench{Run: run, options: o, mix: mix, db: db, counts: counts{all: map[string]*tally{}},
		commands: commands{coll: coll, model: mix.model, fields: o.Fields, fieldSize: o.FieldSize, run: runName(time.Now()), loaded: o.Documents}}, nil
}

// Measure creates and loads the collection, sends the operations, and with --drop drops the collection. report receives
// the progress. If ctx ends, the measurement ends early, and its result stands.
// Errors: ErrHasDocuments; errors of the server while it loads; the last error, if no operation of a kind succeeded.
func (b *Bench) Measure(ctx context.Context, report *Report) error {
	exists, err := b.inspect(ctx)
	if err != nil {
		return err
	}
	if !exists {
		if err := b.create(ctx); err != nil {
			return err
		}
	}
	if b.options.Drop && !exists {
		defer b.drop(context.WithoutCancel(ctx))
	}
	report.begin(b)
	if err := b.load(ctx); err != nil {
		return err
	}
	b.inserted.Store(b.options.Documents)
	report.loaded(b)
	report.end(b, b.send(ctx, report))
	for op, t := range b.counts.all {
		if t.done == 0 {
			return fmt.Errorf("each %s failed: %w", op, b.counts.lastError)
		}
	}
	return nil
}

// drop drops the collection.
func (b *Bench) drop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, _ = b.Run(ctx, b.db, bson.D{{"drop", b.commands.coll}}.Doc()) // the result of the measurement stands
}

// random returns the random choices of a thread.
func (b *Bench) random(thread int) *rand.Rand {
	return rand.New(rand.NewPCG(b.options.Seed, uint64(thread)))
}

// send runs the threads until the duration is over, the number of operations is reached, or ctx ends, and reports each
// second. It returns the time from the first operation to the end of the last one.
func (b *Bench) send(ctx context.Context, report *Report) time.Duration {
	z := *newZipf(b.options.Documents)     // before the measurement, because millions of documents take a part of a second
	ctx, cancel := context.WithCancel(ctx) // not a deadline, before which a driver would give up
	defer cancel()
	defer time.AfterFunc(b.options.Duration, cancel).Stop()
	var threads sync.WaitGroup
	begun := time.Now()
	for i := range b.options.Threads {
		threads.Go(func() { b.thread(ctx, i, z, begun) })
	}
	done := make(chan struct{})
	go func() {
		threads.Wait()
		close(done)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := begun
	for {
		select {
		case <-done:
			return time.Since(begun)
		case <-tick.C:
			t, priced := b.counts.takeSecond()
			now := time.Now()
			report.second(now.Sub(begun), now.Sub(last), &t, priced)
			last = now
		}
	}
}

// thread sends operations one after another. With a rate each operation is due at a time, by which its latency is
// measured: a server that stands still for a second delays all operations that were due in it, and not only the one that
// was sent (the coordinated omission of closed loops).
func (b *Bench) thread(ctx context.Context, number int, z zipf, begun time.Time) {
	r := b.random(number + 1)
	choose := newChooser(b.options.Distribution, r, z)
	due, every := begun, time.Duration(0)
	if b.options.Rate > 0 {
		every = time.Duration(float64(b.options.Threads) / b.options.Rate * float64(time.Second))
		due = begun.Add(every * time.Duration(number) / time.Duration(b.options.Threads))
	}
	for ctx.Err() == nil {
		if n := b.started.Add(1); b.options.Operations > 0 && n > b.options.Operations {
			return
		}
		if every == 0 {
			due = time.Now()
		} else if early := time.Until(due); early > 0 && remote.Pause(ctx, early) != nil {
			return
		}
		op := b.mix.choose(r.IntN(100))
		var n int64
		if op == opInsert {
			n = b.inserted.Add(1) - 1
		} else {
			n = choose.choose(b.inserted.Load())
		}
		var o outcome
		for _, c := range b.commands.of(op, n, r) {
			if b.try(ctx, c, &o); o.err != nil {
				break
			}
		}
		if o.err != nil && ctx.Err() != nil {
			return // cut off by the end
		}
		o.took = time.Since(due)
		b.counts.add(op, &o)
		due = due.Add(every)
	}
}

// try sends a command, and sends it again while it is throttled, at most as often as --retries has it.
func (b *Bench) try(ctx context.Context, command bson.Raw, o *outcome) {
	for attempt := 0; ; attempt++ {
		reply, err := b.Run(ctx, b.db, command)
		if ru, ok := reply.Get("requestCharge").AsFloat(); ok {
			o.ru += ru
			o.priced = true
		}
		o.err = err
		if !remote.Throttled(err) {
			return
		}
		o.refused++
		if attempt >= b.options.Retries || remote.Pause(ctx, pause(err, attempt)) != nil {
			return
		}
		o.retries++
	}
}
