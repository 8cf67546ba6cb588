package peers

import (
	"bytes"
	"slices"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

const (
	// freshSeconds is the maximum age, in seconds, of a demand row that counts: one row may be missed, and a server
	// that writes nothing counts as one without demand after three seconds.
	freshSeconds = 1
	// missedMax is the number of missed seconds whose shares a server still adds.
	missedMax = 3
	// fadeDivisor divides the demand for a budget in each second without higher demand, instead of an end at once. So
	// a demand that recurs every other second keeps a part of its share. A rest below 1 RU is dropped.
	fadeDivisor = 4
)

// shares computes, for one server, its demand for the budgets and its shares of them. It uses neither the store nor a
// clock.
type shares struct {
	budgets *ratelimit.Budgets
	self    storage.MemberID

	wanted      map[ratelimit.BudgetID]ratelimit.MicroRU // the demand in the last row, to fade
	lastWritten int64                                    // the second of the last row
	last        int64                                    // the newest second whose shares were computed
	pending     map[int64]*demands                       // the demands of seconds that have not begun, by second
}

// demands holds the demands of all servers from which the shares of a second are computed.
type demands struct {
	members []storage.MemberID // sorted
	needs   []map[ratelimit.BudgetID]ratelimit.Demand
	current []bool // whether the row is of the last second, so that the amounts in it have not been counted yet
}

// row returns the row of this server for a second; write is false if there is no demand to report.
func (d *shares) row(now time.Time, second int64) (r demandRow, write bool) {
	r = demandRow{second: second, needs: d.budgets.TakeDemand(now)}
	if second > d.lastWritten+1 { // rows are missing: the amounts were not spent within one second
		for i := range r.needs {
			r.needs[i].Spent, r.needs[i].Foreground, r.needs[i].Unused = 0, 0, 0
		}
	}
	d.lastWritten = second
	next := map[ratelimit.BudgetID]ratelimit.MicroRU{}
	for i := range r.needs {
		n := &r.needs[i]
		n.Wanted = max(n.Wanted, d.wanted[n.BudgetID]/fadeDivisor)
		next[n.BudgetID] = n.Wanted
		delete(d.wanted, n.BudgetID)
	}
	for p, w := range d.wanted { // buckets without demand in this second
		if w /= fadeDivisor; w >= ratelimit.RU {
			next[p] = w
			r.needs = append(r.needs, ratelimit.Demand{BudgetID: p, Wanted: w})
		}
	}
	d.wanted = next
	return r, len(r.needs) > 0
}

// setDemands stores the rows of all servers, read in the middle of the second before, from which the shares of a
// second are computed.
func (d *shares) setDemands(second int64, rows map[storage.MemberID]demandRow) {
	if second <= d.last {
		return
	}
	s := &demands{}
	for id := range rows {
		s.members = append(s.members, id)
	}
	slices.SortFunc(s.members, func(a, b storage.MemberID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range s.members {
		needs := map[ratelimit.BudgetID]ratelimit.Demand{}
		if r := rows[id]; r.second >= second-1-freshSeconds && r.second < second {
			for _, n := range r.needs {
				needs[n.BudgetID] = n
			}
		}
		s.needs, s.current = append(s.needs, needs), append(s.current, rows[id].second == second-1)
	}
	if d.pending == nil {
		d.pending = map[int64]*demands{}
	}
	d.pending[second], d.last = s, second
}

// missed lists the seconds up to upTo whose shares have not been computed yet, the oldest first, but none before upTo -
// missedMax.
func (d *shares) missed(upTo int64) (out []int64) {
	for second := max(d.last+1, upTo-missedMax); second <= upTo; second++ {
		out = append(out, second)
	}
	return out
}

// grant adds this server's shares of the seconds up to upTo, which has begun, to its budgets.
func (d *shares) grant(now time.Time, upTo int64) {
	var seconds []int64
	for second := range d.pending {
		if second <= upTo {
			seconds = append(seconds, second)
		}
	}
	slices.Sort(seconds)
	for _, second := range seconds {
		s := d.pending[second]
		delete(d.pending, second)
		self := slices.Index(s.members, d.self)
		switch {
		case self < 0: // the row is not there yet, or was removed as the row of a dead server
		case len(s.members) == 1:
			d.budgets.SetServers(now, 1, false)
		default:
			d.budgets.Grant(now, len(s.members), func(p ratelimit.BudgetID, rate ratelimit.MicroRU) ratelimit.Grant {
				return s.share(self, p, rate)
			})
		}
	}
}

// share computes the part of a budget that one member gets for one second; rate is the sum of the parts of all
// members. If some servers had unused shares in the last second while requests were refused at others, the smaller of
// the two amounts, at most rate, is distributed once more.
func (s *demands) share(self int, p ratelimit.BudgetID, rate ratelimit.MicroRU) (g ratelimit.Grant) {
	wants := make([]ratelimit.MicroRU, len(s.members))
	unused, refused := ratelimit.MicroRU(0), ratelimit.MicroRU(0)
	for i := range s.members {
		n, ok := s.needs[i][p]
		if !ok {
			continue
		}
		wants[i] = n.Wanted
		if s.current[i] {
			g.Foreground += n.Foreground
			unused += n.Unused
			refused += max(0, n.Wanted-n.Spent)
			if i != self {
				g.PeersSpent += n.Spent
			}
		}
	}
	g.Share = ratelimit.Allot(rate+min(unused, refused, rate), wants)[self]
	return g
}
