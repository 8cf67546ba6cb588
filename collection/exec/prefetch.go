package exec

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// Pages: a goroutine per shard copies rows into a page and hands it over; one
// page is in use, one waits, one is being filled.
const (
	pageRows  = 64
	pageBytes = 1 << 20
)

// page is rows copied out of an operator.
type page struct {
	rows  []Row
	mem   []byte
	err   error
	last  bool
	meter ratelimit.Meter // the work of filling it
}

// prefetch runs an operator in a goroutine of its own, one page ahead.
type prefetch struct {
	in     Operator
	env    *mql.Env // the goroutine's own
	parent *mql.Env
	cancel context.CancelFunc
	start  func(p *prefetch)
	begun  bool
	pages  chan *page
	free   chan *page
	cur    *page
	at     int
	err    error
	done   bool
	joined sync.WaitGroup
}

// Prefetch lets several operators of one command run at the same time, at most
// workers at once; a stalled one gives its place back only when its page is
// taken. The goroutines end before Close of their operator returns.
//
// The work of a page goes into env's meter when the page is taken. How far the
// others have read ahead by the time a limit or a closed cursor ends them depends
// on the machine, and a charge must not.
func Prefetch(env *mql.Env, ops []Operator, workers int) []Operator {
	if len(ops) < 2 {
		return ops
	}
	slots := make(chan struct{}, workers)
	out := make([]Operator, len(ops))
	all := make([]*prefetch, len(ops))
	started := false
	start := func(*prefetch) {
		if started {
			return
		}
		started = true
		for _, p := range all {
			p.run(slots)
		}
	}
	for i, op := range ops {
		p := &prefetch{in: op, parent: env, start: start, pages: make(chan *page, 1), free: make(chan *page, 3)}
		for range cap(p.free) {
			p.free <- &page{}
		}
		all[i], out[i] = p, p
	}
	return out
}

// run starts the goroutine.
func (p *prefetch) run(slots chan struct{}) {
	p.begun = true
	// The goroutine outlives the command that opened a cursor; Close ends it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.parent.Context()))
	p.cancel = cancel
	p.env = p.parent.Fork(ctx)
	p.joined.Add(1)
	go func() {
		defer p.joined.Done()
		defer close(p.pages)
		for {
			var pg *page
			select {
			case pg = <-p.free:
			case <-ctx.Done():
				return
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			pg.guardedFill(p.env, p.in)
			p.env.Meter.Cut(&pg.meter)
			<-slots
			select {
			case p.pages <- pg:
			case <-ctx.Done():
				return
			}
			if pg.last || pg.err != nil {
				return
			}
		}
	}()
}

// guardedFill is fill; a panic ends the command and not the process, as it would
// in the command's own goroutine.
func (pg *page) guardedFill(env *mql.Env, in Operator) {
	defer func() {
		if r := recover(); r != nil {
			pg.err = fmt.Errorf("panic while reading ahead: %v\n%s", r, debug.Stack())
		}
	}()
	pg.fill(env, in)
}

// fill copies rows until the page is full or the input ends.
func (pg *page) fill(env *mql.Env, in Operator) {
	pg.rows, pg.mem, pg.err, pg.last = pg.rows[:0], pg.mem[:0], nil, false
	for len(pg.rows) < pageRows && len(pg.mem) < pageBytes {
		r, err := in.Next(env)
		if err != nil {
			pg.err = err
			return
		}
		if r == nil {
			pg.last = true
			return
		}
		pg.rows = append(pg.rows, pg.copy(r))
	}
}

// copy puts what a row points to into the page.
func (pg *page) copy(r *Row) Row {
	pg.room(len(r.Doc) + len(r.ID) + len(r.SortKey) + len(r.Values) + len(r.Meta))
	return Row{Doc: pg.own(r.Doc), ID: pg.own(r.ID), SortKey: pg.own(r.SortKey), Values: pg.own(r.Values), Meta: pg.own(r.Meta), Hash: r.Hash, Shard: r.Shard}
}

// room makes room for n more bytes. Rows before keep pointing to the memory that
// was full, which stays valid.
func (pg *page) room(n int) {
	if cap(pg.mem)-len(pg.mem) < n {
		pg.mem = make([]byte, 0, max(2*cap(pg.mem), n, 4<<10))
	}
}

// own copies b into the page; nil stays nil.
func (pg *page) own(b []byte) []byte {
	if b == nil {
		return nil
	}
	pg.room(len(b))
	at := len(pg.mem)
	pg.mem = append(pg.mem, b...)
	return pg.mem[at:len(pg.mem):len(pg.mem)]
}

func (p *prefetch) Next(env *mql.Env) (*Row, error) {
	if !p.begun {
		p.start(p)
	}
	for {
		if p.cur != nil && p.at < len(p.cur.rows) {
			p.at++
			return &p.cur.rows[p.at-1], nil
		}
		if p.done || p.err != nil {
			return nil, p.err
		}
		if p.cur != nil {
			if p.cur.err != nil || p.cur.last {
				p.err, p.done = p.cur.err, true
				p.join()
				return nil, p.err
			}
			p.free <- p.cur
			p.cur = nil
		}
		select {
		case p.cur = <-p.pages:
			p.at = 0
			if p.cur != nil {
				p.parent.Meter.Merge(&p.cur.meter)
			}
		case <-env.Context().Done():
			p.err = env.Interrupted()
			return nil, p.err
		}
		if p.cur == nil { // closed without a last page: Close was called
			p.done = true
			return nil, nil
		}
	}
}

// join waits for the goroutine.
func (p *prefetch) join() {
	if !p.begun || p.cancel == nil {
		return
	}
	p.cancel()
	p.joined.Wait()
	p.cancel = nil
}

func (p *prefetch) Explain(b *bson.Builder, stats bool) { p.in.Explain(b, stats) }

func (p *prefetch) Close() {
	p.done = true
	p.join()
	p.in.Close()
}
