package exec

import (
	"context"
	"sync"
	"unsafe"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// Pages: while one is in use, a goroutine copies the rows of the next one. Pages
// grow, so that a cursor that is left after its first rows holds few.
const (
	pageRowsFirst = 4
	pageRows      = 64
	pageBytes     = 1 << 20
)

// page is rows copied out of an operator.
type page struct {
	rows  []Row
	mem   []byte
	err   error
	last  bool
	meter ratelimit.Meter // the work of filling it
}

// prefetch runs an operator one page ahead, each page in a goroutine of its own, so
// that nothing runs while nobody asks.
type prefetch struct {
	in     Operator
	env    *mql.Env // the goroutines' own
	parent *mql.Env
	slots  chan struct{}
	cancel context.CancelFunc
	start  func()
	begun  bool
	size   int        // rows of the next page
	pages  chan *page // the one that is ready
	spare  *page
	cur    *page
	at     int
	err    error
	done   bool
	joined sync.WaitGroup
}

// Prefetch lets several operators of one command run at the same time, at most
// workers at once. The goroutines end before Close of their operator returns.
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
	start := func() {
		if started {
			return
		}
		started = true
		for _, p := range all {
			p.run()
		}
	}
	for i, op := range ops {
		p := &prefetch{in: op, parent: env, slots: slots, start: start, size: pageRowsFirst, pages: make(chan *page, 1)}
		all[i], out[i] = p, p
	}
	return out
}

// run begins with the first page.
func (p *prefetch) run() {
	p.begun = true
	// A page may outlive the command that asked for rows; Close ends it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.parent.Context()))
	p.cancel = cancel
	p.env = p.parent.Fork(ctx)
	p.ahead()
}

// ahead fills a page in a goroutine.
func (p *prefetch) ahead() {
	pg := p.spare
	if p.spare = nil; pg == nil {
		pg = &page{}
	}
	rows := p.size
	p.size = min(4*p.size, pageRows)
	p.joined.Go(func() {
		done := p.env.Context().Done()
		select {
		case p.slots <- struct{}{}:
		case <-done:
			close(p.pages)
			return
		}
		pg.guardedFill(p.env, p.in, rows)
		p.env.Pause()
		p.env.Meter.Cut(&pg.meter)
		<-p.slots
		p.pages <- pg // there is room for the one page on its way
	})
}

// guardedFill is fill; a panic ends the command and not the process, as it would
// in the command's own goroutine.
func (pg *page) guardedFill(env *mql.Env, in Operator, rows int) {
	defer func() {
		if err := mongoerr.Recovered(recover()); err != nil {
			pg.err = err
		}
	}()
	pg.fill(env, in, rows)
}

// fill copies so many rows, unless the page is full before or the input ends.
func (pg *page) fill(env *mql.Env, in Operator, rows int) {
	pg.rows, pg.mem, pg.err, pg.last = pg.rows[:0], pg.mem[:0], nil, false
	for len(pg.rows) < rows && len(pg.mem) < pageBytes {
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

// bytes is about how much memory the page takes: what was full before is as large again
// at most.
func (pg *page) bytes() int { return 2*cap(pg.mem) + cap(pg.rows)*int(unsafe.Sizeof(Row{})) }

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
		p.start()
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
			p.spare, p.cur = p.cur, nil
		}
		select {
		case p.cur = <-p.pages:
		default:
			env.Pause() // it may be needed for the page
			select {
			case p.cur = <-p.pages:
			case <-env.Context().Done():
				p.err = env.Interrupted()
				return nil, p.err
			}
		}
		if p.cur == nil { // cancelled before it was filled: Close was called
			p.done = true
			return nil, nil
		}
		p.at = 0
		p.parent.Meter.Merge(&p.cur.meter)
		if p.cur.err == nil && !p.cur.last {
			p.ahead()
		}
	}
}

// Park see Operator. Pages that are filled already stay.
func (p *prefetch) Park() (bytes int, done bool) {
	if !p.begun {
		return 0, true
	}
	p.spare = nil
	if p.cur != nil {
		bytes = p.cur.bytes()
	}
	if p.cur != nil && p.cur.last {
		return p.parkInput(bytes) // which has ended, and may hold what it did not read
	}
	if p.done || p.err != nil || p.cur != nil && p.cur.err != nil {
		return bytes, true
	}
	select {
	case next := <-p.pages:
		if next == nil {
			return bytes, true
		}
		bytes += next.bytes()
		done = true
		if next.err == nil {
			bytes, done = p.parkInput(bytes)
		}
		p.pages <- next
		return bytes, done
	default:
		return bytes, false
	}
}

// parkInput parks the input once the goroutine has handed over its page; bytes is what
// remains beside it.
func (p *prefetch) parkInput(bytes int) (int, bool) {
	p.joined.Wait()
	below, done := p.in.Park()
	return bytes + below, done
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
