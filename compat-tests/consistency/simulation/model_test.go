package simulation

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The collections of the simulation. The documents of counters and plain exist from the beginning: each counts its
// changes in the field n, and lists the tokens of its changes in the field log.
const (
	db       = "sim"
	counters = "counters" // on several partitions, with few request units
	plain    = "plain"    // on one, without a limit
	ledger   = "ledger"   // a document for each transaction
	things   = "things"   // documents that are inserted and deleted
	expiring = "expiring" // documents that expire
)

const (
	countersDocs = 12
	expiresAfter = 5 * time.Second
	expireEvery  = time.Second
)

// outcome is the state of a change.
type outcome uint8

const (
	open    outcome = iota // sent, and not answered yet
	done                   // acknowledged
	refused                // certainly not made
	unknown                // undetermined
)

// place identifies a document.
type place struct {
	coll string
	id   int64
}

// record holds the changes of a document that counts them.
type record struct {
	tokens  map[int64]outcome
	longest []int64 // the longest log that was seen in this life
}

// thing holds the expected version of a document that is inserted and deleted (0 if it does not exist), and the
// other versions that it may have because of undetermined writes.
type thing struct {
	known int64
	maybe []int64
}

// model holds the expected state, shared by all clients.
type model struct {
	mu      sync.Mutex
	records map[place]*record
	entries map[int64]outcome // entries of the ledger
	things  map[int64]*thing
	expires map[int64]mortal
	wall    time.Time // the latest time that the wall clock has shown
	next    int64     // the next token
	charged float64   // the sum of the charges in replies of this life
	replies int       // the number of these replies
}

// mortal is a document that expires.
type mortal struct {
	at      time.Time
	outcome outcome
}

func newModel() *model {
	m := &model{records: map[place]*record{}, entries: map[int64]outcome{}, things: map[int64]*thing{}, expires: map[int64]mortal{}}
	for _, coll := range []string{counters, plain} {
		for id := range int64(countersDocs) {
			m.records[place{coll, id}] = &record{tokens: map[int64]outcome{}}
		}
	}
	return m
}

// filter returns the filter for a document.
func (p place) filter() bson.D {
	return bson.D{{Key: "_id", Value: p.id}, {Key: "k", Value: p.id % 7}, {Key: "g", Value: p.id % 5}}
}

// token returns the token of a new change of some documents: a unique number, which the change adds to their logs.
// The model records the change as sent.
func (m *model) token(places ...place) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	for _, p := range places {
		m.records[p].tokens[m.next] = open
	}
	return m.next
}

// settle sets the outcome of a change.
func (m *model) settle(token int64, o outcome, places ...place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range places {
		m.records[p].tokens[token] = o
	}
}

// acknowledged returns the tokens of the acknowledged changes of a document; every later read must contain them.
func (m *model) acknowledged(p place) (out []int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for t, o := range m.records[p].tokens {
		if o == done {
			out = append(out, t)
		}
	}
	return out
}

// counted is a document that counts its own changes, as a client read it.
type counted struct {
	ID  int64 `bson:"_id"`
	K   int64
	G   int64
	N   int64
	Log []int64
}

// look compares a document that a client read with the model. must has the tokens that were acknowledged when the
// read began, so the document must contain them.
func (m *model) look(p place, d *counted, must []int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[p]
	if int(d.N) != len(d.Log) {
		return fmt.Errorf("%v counts %d changes and lists %d", p, d.N, len(d.Log))
	}
	seen := map[int64]bool{}
	for _, t := range d.Log {
		o, asked := r.tokens[t]
		switch {
		case !asked:
			return fmt.Errorf("%v has change %d, which nobody made", p, t)
		case o == refused:
			return fmt.Errorf("%v has change %d, which was refused", p, t)
		case seen[t]:
			return fmt.Errorf("%v has change %d twice: %v", p, t, d.Log)
		}
		seen[t] = true
	}
	for _, t := range must {
		if !seen[t] {
			return fmt.Errorf("%v has lost change %d, which was acknowledged: %v", p, t, d.Log)
		}
	}
	short, long := d.Log, r.longest
	if len(short) > len(long) {
		short, long = long, short
	}
	if !slices.Equal(short, long[:len(short)]) {
		return fmt.Errorf("%v was read as %v and as %v", p, r.longest, d.Log)
	}
	r.longest = long
	return nil
}

// restarted resolves the undetermined changes of a document by its contents after a restart of the server: changes
// that are not there will never be made.
func (m *model) restarted(p place, d *counted) error {
	m.mu.Lock()
	r := m.records[p]
	r.longest = nil
	for t, o := range r.tokens {
		if o == open || o == unknown {
			r.tokens[t] = refused
			if slices.Contains(d.Log, t) {
				r.tokens[t] = done
			}
		}
	}
	m.mu.Unlock()
	return m.look(p, d, m.acknowledged(p))
}
