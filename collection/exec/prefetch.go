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

// While a command reads one page of rows of a shard, a goroutine copies the rows of the next page. Pages grow
// from pageRowsFirst to pageRows rows, so that a cursor that is abandoned after its first rows holds few.
const (
	pageRowsFirst = 4
	pageRows      = 64
	pageBytes     = 1 << 20
)

// page holds rows copied from an operator.
type page struct {
	rows  []Row
	mem   []byte
	err   error
	last  bool
	meter ratelimit.Meter // the work of filling the page
}

// prefetch runs an operator one page of rows ahead of its reader. Each page is filled by a new goroutine, so that
// nothing runs from when the page is full until it is taken.
type prefetch struct {
	in     Operator
	env    *mql.Env // Env of the goroutines
	parent *mql.Env
	slots  chan struct{}
	cancel context.CancelFunc
	start  func()
	begun  bool
	direct bool       // rows are taken from the input, without pages: see rowDropper
	size   int        // maximal number of rows of the next page
	pages  chan *page // holds the filled page
	spare  *page
	cur    *page
	at     int
	err    error
	done   bool
	joined sync.WaitGroup
}

// Prefetch returns operators that run the operators of a command's shards at the same time, at most workers at
// once. The goroutines end before Close of their operator returns.
//
// The work of a page is added to env's meter when the page is taken. The number of pages read ahead when a
// limit or a closed cursor ends the command depends on the machine, and the charge must not depend on it.
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

// run starts to fill the first page.
func (p *prefetch) run() {
	if p.done {
		return // it ended while its rows were dropped
	}
	p.begun = true
	// A page may be filled after the command that requested rows has ended, so the goroutines have a context of
	// their own, which Close cancels.
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.parent.Context()))
	p.cancel = cancel
	p.env = p.parent.Fork(ctx)
	p.ahead()
}

// ahead starts a goroutine that fills a page.
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
		if pg.err = p.env.Meter.CheckCap(); pg.err == nil {
			pg.guardedFill(p.env, p.in, rows)
		} else {
			pg.rows, pg.mem, pg.last = pg.rows[:0], pg.mem[:0], false
		}
		p.env.ReleaseSlot()
		p.env.Meter.Cut(&pg.meter)
		<-p.slots
		p.pages <- pg // never blocks: only one page is filled at a time
	})
}

// guardedFill fills the page like fill, but a panic ends only the command and not the process, as in the
// command's own goroutine.
func (pg *page) guardedFill(env *mql.Env, in Operator, rows int) {
	defer func() {
		if err := mongoerr.Recovered(recover()); err != nil {
			pg.err = err
		}
	}()
	pg.fill(env, in, rows)
}

// fill copies at most rows rows of the operator in into the page. It stops earlier when the page has pageBytes of
// memory, or the input ends or fails.
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

// copy copies a row and the memory that it points to into the page.
func (pg *page) copy(r *Row) Row {
	pg.reserve(len(r.Doc) + len(r.ID) + len(r.SortKey) + len(r.Values) + len(r.Meta))
	return Row{Doc: pg.copyIn(r.Doc), ID: pg.copyIn(r.ID), SortKey: pg.copyIn(r.SortKey), Values: pg.copyIn(r.Values), Meta: pg.copyIn(r.Meta), Hash: r.Hash, Shard: r.Shard}
}

// reserve makes room in the page for n more bytes. The rows already copied point to the old memory, which stays
// valid.
func (pg *page) reserve(n int) {
	if cap(pg.mem)-len(pg.mem) < n {
		pg.mem = make([]byte, 0, max(2*cap(pg.mem), n, 4<<10))
	}
}

// bytes returns an upper estimate of the page's memory. All earlier memory, to which rows may point, is
// together at most as large as the current memory.
func (pg *page) bytes() int { return 2*cap(pg.mem) + cap(pg.rows)*int(unsafe.Sizeof(Row{})) }

// copyIn copies b into the page; nil stays nil.
func (pg *page) copyIn(b []byte) []byte {
	if b == nil {
		return nil
	}
	pg.reserve(len(b))
	at := len(pg.mem)
	pg.mem = append(pg.mem, b...)
	return pg.mem[at:len(pg.mem):len(pg.mem)]
}

func (p *prefetch) Next(env *mql.Env) (*Row, error) {
	if p.direct {
		return p.in.Next(env)
	}
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
			env.ReleaseSlot() // the filling goroutine may need the slot
			select {
			case p.cur = <-p.pages:
			case <-env.Context().Done():
				p.err = env.Interrupted()
				return nil, p.err
			}
		}
		if p.cur == nil { // cancelled before the page was filled: Close was called
			p.done = true
			return nil, nil
		}
		p.at = 0
		p.parent.Meter.Merge(&p.cur.meter)
		if err := p.parent.Meter.CheckCap(); err != nil {
			p.err = err
			return nil, err
		}
		if p.cur.err == nil && !p.cur.last {
			p.ahead()
		}
	}
}

// Park implements Operator. Filled pages stay.
func (p *prefetch) Park() (bytes int, done bool) {
	if !p.begun {
		return p.in.Park() // rows may have been dropped
	}
	p.spare = nil
	if p.cur != nil {
		bytes = p.cur.bytes()
	}
	if p.cur != nil && p.cur.last {
		return p.parkInput(bytes) // the input has ended, but may still have iterators open
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

// parkInput parks the input once the goroutine has delivered its page. bytes is the memory of the pages, to
// which the memory of the input is added.
func (p *prefetch) parkInput(bytes int) (int, bool) {
	p.joined.Wait()
	below, done := p.in.Park()
	return bytes + below, done
}

// join cancels the goroutine and waits for it.
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
	p.chargeFilled()
	p.in.Close()
}

// chargeFilled adds the work of a page that was not taken, if the command was stopped at its cap, which has counted this
// work: what is charged is then what the error contains.
func (p *prefetch) chargeFilled() {
	if !p.parent.Meter.CapReached() {
		return
	}
	select {
	case pg := <-p.pages:
		if pg != nil {
			p.parent.Meter.Merge(&pg.meter)
		}
	default:
	}
}
