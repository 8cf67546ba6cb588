package command

import (
	"sync"
	"time"

	"github.com/cantledb/cantle/wire/session"
)

// statement holds the charge of one command, for getLastRequestStatistics.
type statement struct {
	Command string
	Charge  int64 // micro request units
	Took    time.Duration
	Waited  time.Duration // part of Took: the wait of server-side retry for request units
	Activity
}

// charges stores the charge of the last command of each session, for getLastRequestStatistics; newer sessions
// displace older ones. It is divided into parts with a lock each, because the commands of all clients with sessions
// write into it.
type charges [chargesParts]chargesPart

// chargesPart holds the charges of the sessions whose ids fall into one of the chargesParts parts.
type chargesPart struct {
	mu  sync.Mutex
	now map[session.ID]statement
	old map[session.ID]statement // the previous generation, replaced when now is full
	_   [40]byte                 // keeps the locks of two parts off one cache line
}

const (
	chargesParts = 64
	// chargesMax bounds one generation of a part.
	chargesMax = 128
)

func (c *charges) part(id session.ID) *chargesPart { return &c[id.Stripe(chargesParts)] }

func (c *charges) put(id session.ID, s statement) {
	p := c.part(id)
	p.mu.Lock()
	if p.now == nil || len(p.now) >= chargesMax {
		p.old, p.now = p.now, map[session.ID]statement{}
	}
	p.now[id] = s
	p.mu.Unlock()
}

func (c *charges) Get(id session.ID) (statement, bool) {
	p := c.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.now[id]
	if !ok {
		s, ok = p.old[id]
	}
	return s, ok
}
