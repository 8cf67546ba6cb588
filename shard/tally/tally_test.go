package tally_test

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
)

func TestBoard(t *testing.T) {
	var b tally.Board
	one := b.Of(1)
	one.Shard(0).Add(1, tally.Count{Docs: 2, Bytes: 20})
	one.Shard(3).Add(2, tally.Count{Docs: 1, Bytes: 5})
	b.Of(2).Shard(0).Add(3, tally.Count{Docs: 7, Bytes: 70})

	third := one.Shard(3)
	if b.Of(1) != one || one.Shard(3) != third {
		t.Error("counts are made anew when they are asked for again")
	}
	if got, want := one.Total(nil), (tally.Count{Docs: 3, Bytes: 25}); got != want {
		t.Errorf("total %+v, want %+v", got, want)
	}
	one.Forget(3)
	if got, want := one.Total(nil), (tally.Count{Docs: 2, Bytes: 20}); got != want {
		t.Errorf("total without the forgotten shard %+v, want %+v", got, want)
	}
	one.Shard(0).Set(tally.Count{Docs: 9, Bytes: 90})
	if got, want := one.Shard(0).Get(), (tally.Count{Docs: 9, Bytes: 90}); got != want {
		t.Errorf("set to %+v, want %+v", got, want)
	}
	b.Drop(1)
	if got := b.Of(1).Total(nil); got != (tally.Count{}) {
		t.Errorf("a dropped collection has %+v", got)
	}
	if got := b.Of(2).Total(nil); got.Docs != 7 {
		t.Errorf("another collection has %+v after the drop", got)
	}
}

func TestSettleShard(t *testing.T) {
	add := func(ts storage.Timestamp) func(*tally.Shard) {
		return func(s *tally.Shard) { s.Add(ts, tally.Count{Docs: 1, Bytes: 10}) }
	}
	watch := (*tally.Shard).Watch
	for _, c := range []struct {
		name    string
		steps   []func(*tally.Shard)
		after   []func(*tally.Shard) // Settle
		scanned int64
		want    int64
	}{
		{name: "nothing was written", steps: []func(*tally.Shard){watch}, scanned: 4, want: 4},
		{name: "the scan saw what was written before it", steps: []func(*tally.Shard){watch, add(9), add(8)}, scanned: 4, want: 4},
		{name: "the scan saw what was written at its time", steps: []func(*tally.Shard){watch, add(10)}, scanned: 4, want: 4},
		{name: "and nothing of what came later", steps: []func(*tally.Shard){watch, add(9), add(11), add(12)}, scanned: 4, want: 6},
		{name: "what is added afterwards counts", steps: []func(*tally.Shard){watch, add(11)}, after: []func(*tally.Shard){add(12)}, scanned: 4, want: 6},
		{name: "watching again forgets", steps: []func(*tally.Shard){watch, add(9), watch}, scanned: 4, want: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := new(tally.Board).Of(1).Shard(0)
			for _, step := range c.steps {
				step(s)
			}
			s.Settle(10, tally.Count{Docs: c.scanned, Bytes: 10 * c.scanned})
			for _, step := range c.after {
				step(s)
			}
			if got, want := s.Get(), (tally.Count{Docs: c.want, Bytes: 10 * c.want}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			s.Settle(10, tally.Count{})
			if got := s.Get(); got.Docs != c.want {
				t.Errorf("a second Settle, without a Watch, took back what the first had settled: %+v", got)
			}
		})
	}
}

// population models a collection: the sizes of its documents, 0 for none, and their shards, as a scan finds them.
type population struct {
	size  [100]int64
	owner [100]shard.ID
}

func (p *population) count(id shard.ID) (c tally.Count) {
	for i, n := range p.size {
		if n > 0 && p.owner[i] == id {
			c = c.Add(tally.Count{Docs: 1, Bytes: n})
		}
	}
	return c
}

func (p *population) total() (c tally.Count) {
	for _, n := range p.size {
		if n > 0 {
			c = c.Add(tally.Count{Docs: 1, Bytes: n})
		}
	}
	return c
}

// write inserts, changes or deletes a random document and returns the change.
func (p *population) write(r *rand.Rand) (place int, d tally.Count) {
	place = r.IntN(len(p.size))
	before, after := p.size[place], r.Int64N(5)*10
	switch {
	case before == 0 && after > 0:
		d.Docs = 1
	case before > 0 && after == 0:
		d.Docs = -1
	}
	d.Bytes = after - before
	p.size[place] = after
	return place, d
}

// TestDivide splits and merges shards while documents are written, as shard/jobs does: the total is
// exact all the time, and each shard after it is settled.
func TestDivide(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var p population
	c := new(tally.Board).Of(1)
	ids, next, ts := []shard.ID{0}, shard.ID(1), storage.Timestamp(0)
	total := func() {
		t.Helper()
		if got, want := c.Total(nil), p.total(); got != want {
			t.Fatalf("total %+v, want %+v", got, want)
		}
	}
	// write commits n changes of documents; stale is the probability that a writer uses the older map owners instead
	// of the newest.
	write := func(n int, stale float64, owners [100]shard.ID) {
		t.Helper()
		for range n {
			ts++
			place, d := p.write(r)
			id := p.owner[place]
			if r.Float64() < stale {
				id = owners[place]
			}
			c.Shard(id).Add(ts, d)
			total()
		}
	}
	for range 40 {
		write(20, 0, p.owner)
		before := p.owner
		var ch tally.Change
		if i := r.IntN(len(ids)); len(ids) < 4 { // split
			ch = tally.Change{Parents: []shard.ID{ids[i]}, Children: []shard.ID{next, next + 1}}
			ids = append(append(ids[:i:i], ids[i+1:]...), next, next+1)
			next += 2
		} else { // merge
			j := (i + 1) % len(ids)
			ch = tally.Change{Parents: []shard.ID{ids[i], ids[j]}, Children: []shard.ID{next}}
			ids = append([]shard.ID{next}, ids[(j+1)%len(ids)], ids[(j+2)%len(ids)])
			next++
		}
		c.Divide(ch)
		if got := c.Carried(); !reflect.DeepEqual(got, []tally.Change{ch}) {
			t.Fatalf("carried %v, want %v", got, ch)
		}
		if r.IntN(4) == 0 { // the map cannot be published: try again
			c.Undivide(ch)
			if got := c.Carried(); len(got) != 0 {
				t.Fatalf("carried after Undivide: %v", got)
			}
			total()
			c.Divide(ch)
		}
		for i, id := range p.owner {
			for _, parent := range ch.Parents {
				if id == parent {
					p.owner[i] = ch.Children[r.IntN(len(ch.Children))]
				}
			}
		}
		write(20, 0.5, before)
		write(10, 0, before) // the pins of the old map are drained
		at, scanned := ts, map[shard.ID]tally.Count{}
		for _, id := range ch.Children {
			scanned[id] = p.count(id)
		}
		write(10, 0, before)
		c.Settle([]tally.Change{ch}, at, scanned)
		total()
		if got := c.Carried(); len(got) != 0 {
			t.Fatalf("carried after Settle: %v", got)
		}
		for _, id := range ids {
			if got, want := c.Shard(id).Get(), p.count(id); got != want {
				t.Fatalf("shard %v has %+v, want %+v", id, got, want)
			}
		}
		for _, id := range ch.Parents {
			if got := c.Shard(id).Get(); got != (tally.Count{}) {
				t.Fatalf("parent %v still has %+v", id, got)
			}
			c.Forget(id)
		}
	}
}

// TestUndivide reverts one of two changes: the counts of its children are dropped, the other change
// stays.
func TestUndivide(t *testing.T) {
	c := new(tally.Board).Of(1)
	c.Shard(0).Add(1, tally.Count{Docs: 5})
	one := tally.Change{Parents: []shard.ID{0}, Children: []shard.ID{1, 2}}
	two := tally.Change{Parents: []shard.ID{3}, Children: []shard.ID{4, 5}}
	c.Divide(one)
	c.Divide(two)
	c.Shard(1).Add(2, tally.Count{Docs: 1})
	c.Undivide(tally.Change{Children: []shard.ID{1, 2}})
	if got := c.Carried(); !reflect.DeepEqual(got, []tally.Change{two}) {
		t.Errorf("carried %v", got)
	}
	if got := c.Total(nil).Docs; got != 5 {
		t.Errorf("total %d", got)
	}
	c.Undivide(one)
	if got := c.Carried(); !reflect.DeepEqual(got, []tally.Change{two}) {
		t.Errorf("carried after a second Undivide %v", got)
	}
}

// TestTotalWhileSettling reads the total of a collection while another goroutine replaces its only shard again and
// again by one with the same number of documents: the total never changes.
func TestTotalWhileSettling(t *testing.T) {
	c := new(tally.Board).Of(1)
	c.Shard(0).Add(1, tally.Count{Docs: 1000})
	var done sync.WaitGroup
	stop := make(chan struct{})
	done.Go(func() {
		defer close(stop)
		for i := range shard.ID(2000) {
			ch := tally.Change{Parents: []shard.ID{i}, Children: []shard.ID{i + 1}}
			c.Divide(ch)
			c.Settle([]tally.Change{ch}, 2, map[shard.ID]tally.Count{i + 1: {Docs: 1000}})
		}
	})
	done.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if got := c.Total(nil).Docs; got != 1000 {
				t.Errorf("total %d", got)
				return
			}
		}
	})
	done.Wait()
}

// TestSettleWhileAdding settles a shard during writes: no change added after the scan is lost.
func TestSettleWhileAdding(t *testing.T) {
	s := new(tally.Board).Of(1).Shard(0)
	s.Watch()
	s.Add(1, tally.Count{Docs: 3})
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ts := storage.Timestamp(3); ts < 2003; ts++ {
				s.Add(ts, tally.Count{Docs: 1})
			}
		})
	}
	s.Settle(2, tally.Count{Docs: 3})
	writers.Wait()
	if got := s.Get().Docs; got != 4*2000+3 {
		t.Errorf("%d documents", got)
	}
}
