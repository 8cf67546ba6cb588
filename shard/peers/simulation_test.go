package peers

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// world simulates some servers with clients, in virtual time. Rows are committed late, snapshots are read
// late, and servers die, stall and join as a test requires.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	start   time.Time
	now     time.Duration
	servers []*server
	rows    map[storage.MemberID][]commit
	set     func(b *ratelimit.Budgets, now time.Time)
	// late returns the duration of a commit or a read.
	late func() time.Duration
}

// commit is the content that a server's row has from the time at on; nil if the row was removed.
type commit struct {
	at  time.Duration
	row []byte
}

// server is one simulated server.
type server struct {
	*world
	id       storage.MemberID
	budgets  *ratelimit.Budgets
	shares   shares
	demand   func(at time.Duration) ratelimit.MicroRU // RU per second that its clients request
	price    ratelimit.MicroRU
	scope    ratelimit.Scope
	place    ratelimit.ShardID
	backlog  ratelimit.MicroRU
	admitted map[int64]ratelimit.MicroRU // RU by second
	reads    []time.Duration             // when the reads that have begun end
	readOf   []int64
	dead     bool
	mute     bool // it cannot reach the store
	off      time.Duration
}

const step = 20 * time.Millisecond

func newWorld(t *testing.T, seed uint64, set func(b *ratelimit.Budgets, now time.Time)) *world {
	return &world{t: t, rand: rand.New(rand.NewPCG(seed, 7)), start: time.Unix(1_700_000_000, 0), rows: map[storage.MemberID][]commit{},
		set: set, late: func() time.Duration { return 0 }}
}

// add starts a server, whose clock is up to 40 ms behind.
func (w *world) add(demand func(at time.Duration) ratelimit.MicroRU) *server {
	s := &server{world: w, demand: demand, price: 10 * ratelimit.RU, budgets: &ratelimit.Budgets{}, admitted: map[int64]ratelimit.MicroRU{},
		scope: ratelimit.Scope{Collection: 1, Shards: []int{0}}, place: ratelimit.ShardID{Collection: 1}, off: time.Duration(w.rand.IntN(40)) * time.Millisecond}
	s.id[0] = byte(len(w.servers) + 1)
	s.shares = shares{budgets: s.budgets, self: s.id}
	w.rows[s.id] = append(w.rows[s.id], commit{w.now, demandRow{}.encode()})
	w.servers = append(w.servers, s)
	alive := 0
	for _, o := range w.servers {
		if !o.dead {
			alive++
		}
	}
	s.budgets.SetServers(w.clock(), alive, alive > 1)
	for _, o := range w.servers {
		if o != s && !o.dead {
			o.budgets.SetServers(w.clock(), alive, false)
		}
	}
	w.set(s.budgets, w.clock())
	return s
}

func (w *world) clock() time.Time { return w.start.Add(w.now) }

// state returns the rows that a read at a time sees.
func (w *world) state(at time.Duration) map[storage.MemberID]demandRow {
	rows := map[storage.MemberID]demandRow{}
	for id, list := range w.rows {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].at <= at {
				if r, err := decodeDemandRow(list[i].row); err != nil {
					w.t.Fatal(err)
				} else if list[i].row != nil {
					rows[id] = r
				}
				break
			}
		}
	}
	return rows
}

// run advances the time.
func (w *world) run(d time.Duration) {
	for end := w.now + d; w.now < end; w.now += step {
		for _, s := range w.servers {
			if !s.dead {
				s.step()
			}
		}
	}
}

func (s *server) step() {
	own := s.now - s.off // the time by the server's own clock
	second := s.start.Unix() + int64(own/time.Second)
	within := own % time.Second
	several := len(s.rows) > 1
	if several && !s.mute {
		if within < step && own >= 0 {
			s.shares.grant(s.clock(), second)
			if r, write := s.shares.row(s.clock(), second); write {
				s.rows[s.id] = append(s.rows[s.id], commit{s.now + s.late(), r.encode()})
			}
		}
		if within >= 540*time.Millisecond && within < 540*time.Millisecond+step {
			s.reads, s.readOf = append(s.reads, s.now+s.late()), append(s.readOf, second+1)
		}
		for len(s.reads) > 0 && s.reads[0] <= s.now {
			for _, missed := range s.shares.missed(s.readOf[0]) {
				s.shares.setDemands(missed, s.state(time.Duration(missed-1-s.start.Unix())*time.Second+time.Second/2))
			}
			s.shares.grant(s.clock(), second)
			s.reads, s.readOf = s.reads[1:], s.readOf[1:]
		}
	}
	if s.mute {
		return // its commands fail, because their data is in the store
	}
	want := s.demand(s.now)
	s.backlog = min(s.backlog+want*ratelimit.MicroRU(step)/ratelimit.MicroRU(time.Second), max(want, s.price))
	for s.backlog >= s.price {
		if s.budgets.Admit(s.clock(), s.scope, ratelimit.Class{}) != nil {
			return
		}
		s.budgets.ChargeAt(s.clock(), ratelimit.Class{}, s.place, s.price)
		s.admitted[int64(s.now/time.Second)] += s.price
		s.backlog -= s.price
	}
}

// sum returns the RU that all servers admitted in the seconds from from to before to.
func (w *world) sum(from, to int64) (sum ratelimit.MicroRU) {
	for _, s := range w.servers {
		sum += s.between(from, to)
	}
	return sum
}

func (s *server) between(from, to int64) (sum ratelimit.MicroRU) {
	for second := from; second < to; second++ {
		sum += s.admitted[second]
	}
	return sum
}

// steady returns a constant demand.
func steady(rus int64) func(time.Duration) ratelimit.MicroRU {
	return func(time.Duration) ratelimit.MicroRU { return ratelimit.MicroRU(rus) * ratelimit.RU }
}

// manual returns a function that gives collection 1 a throughput.
func manual(rus int64, o ratelimit.Options) func(*ratelimit.Budgets, time.Time) {
	return func(b *ratelimit.Budgets, now time.Time) {
		b.Collection(1).Set(now, ratelimit.Throughput{Mode: ratelimit.Manual, RUs: rus}, o)
	}
}

// within checks that an amount differs from the expected amount by at most percent.
func (w *world) within(what string, got, want ratelimit.MicroRU, percent int64) {
	w.t.Helper()
	if d := max(got-want, want-got); int64(d) > int64(want)/100*percent {
		w.t.Errorf("%s: %v RU, wanted %v within %d %%", what, got, want, percent)
	}
}
