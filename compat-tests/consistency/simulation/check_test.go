package simulation

import (
	"math"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// found holds the contents of a server.
type found struct {
	counted map[place]*counted
	ledger  map[int64]bool
	things  map[int64]int64
}

// all reads a collection as a whole.
func (c *client) all(coll string) (rows []bson.Raw) {
	for try := range 100 {
		r, err := c.run(bson.D{{Key: "find", Value: coll}, {Key: "batchSize", Value: 100_000}})
		if err == nil && r.code() == 0 {
			return r.rows()
		}
		if err != nil || r.code() != 16500 || try == 99 {
			c.w.bad("reading %s: %v %s", coll, err, r.Raw)
			return nil
		}
		time.Sleep(time.Second)
	}
	return nil
}

// check compares the contents of a server with the model. fresh means that the server has just started, so the
// contents show whether undetermined writes were made.
func (w *world) check(fresh bool) *found {
	c := w.newClient(900)
	defer c.hangUp()
	f := &found{counted: map[place]*counted{}, ledger: map[int64]bool{}, things: map[int64]int64{}}
	for _, coll := range []string{counters, plain} {
		for _, raw := range c.all(coll) {
			var d counted
			if err := bson.Unmarshal(raw, &d); err != nil {
				w.bad("%s: %v", raw, err)
			}
			p := place{coll, d.ID}
			f.counted[p] = &d
			err := error(nil)
			if fresh {
				err = w.model.restarted(p, &d)
			} else {
				err = w.model.look(p, &d, w.model.acknowledged(p))
			}
			if err != nil {
				w.bad("%v", err)
			}
		}
	}
	if len(f.counted) != 2*countersDocs {
		w.bad("%d documents of %d", len(f.counted), 2*countersDocs)
	}
	w.checkLedger(c, f, fresh)
	w.checkThings(c, f, fresh)
	for _, coll := range []string{counters, plain, ledger, things, expiring} {
		w.validate(c, coll)
	}
	return f
}

// checkLedger checks that the ledger, which has an entry for each transaction, agrees with the documents that these
// transactions changed.
func (w *world) checkLedger(c *client, f *found, fresh bool) {
	for _, raw := range c.all(ledger) {
		f.ledger[raw.Lookup("_id").AsInt64()] = true
	}
	m := w.model
	m.mu.Lock()
	defer m.mu.Unlock()
	times := map[int64]int{}
	for _, d := range f.counted {
		for _, t := range d.Log {
			times[t]++
		}
	}
	for id := range f.ledger {
		if _, asked := m.entries[id]; !asked {
			w.bad("entry %d of the ledger was never asked for", id)
		}
	}
	for id, o := range m.entries {
		switch {
		case o == done && !f.ledger[id]:
			w.bad("entry %d of the ledger is lost", id)
		case o == refused && f.ledger[id]:
			w.bad("entry %d of the ledger is there and its transaction was aborted", id)
		case f.ledger[id] && times[id] != 2 || !f.ledger[id] && times[id] != 0:
			w.bad("transaction %d is half there: in the ledger %v, in %d documents", id, f.ledger[id], times[id])
		}
		if fresh {
			m.entries[id] = map[bool]outcome{true: done, false: refused}[f.ledger[id]]
		}
	}
}

// checkThings compares the documents that are inserted and deleted.
func (w *world) checkThings(c *client, f *found, fresh bool) {
	for _, raw := range c.all(things) {
		id, v := raw.Lookup("_id").AsInt64(), raw.Lookup("v").AsInt64()
		if want, err := bson.Marshal(document(id, v)); err != nil || string(want) != string(raw) {
			w.bad("thing %d of version %d is damaged: %s", id, v, raw)
		}
		if _, twice := f.things[id]; twice {
			w.bad("thing %d is there twice", id)
		}
		f.things[id] = v
	}
	m := w.model
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, x := range m.things {
		if err := m.sameThing(id, f.things[id]); err != nil {
			w.bad("%v", err)
		}
		if fresh {
			x.known, x.maybe = f.things[id], nil
		}
	}
	for id := range f.things {
		if m.things[id] == nil {
			w.bad("thing %d was never made", id)
		}
	}
}

// validate runs the command validate, which compares indexes with the documents, and compares the count of collStats
// with their number.
func (w *world) validate(c *client, coll string) {
	r, err := c.run(bson.D{{Key: "validate", Value: coll}, {Key: "full", Value: true}})
	if valid, ok := r.at("valid").BooleanOK(); err != nil || !ok || !valid {
		w.bad("validate %s: %v %s", coll, err, r.Raw)
		return
	}
	records := r.at("nrecords").AsInt64()
	s, err := c.run(bson.D{{Key: "collStats", Value: coll}})
	if n, ok := s.at("count").AsInt64OK(); err != nil || !ok || n != records && coll != expiring {
		w.bad("%s counts %d documents and has %d: %v", coll, n, records, err)
	}
}

// rests is the interval at which charges reads the charges. If two readings are equal, no job of the server is
// running.
const rests = 5 * time.Second

// charges checks that the charges in replies add up to what the budgets have spent, while there are no other
// requests. Jobs that an earlier life of the server left unfinished, such as a split, are charged too but appear in
// no reply: charges first waits for their end.
func (w *world) charges() {
	c := w.newClient(901)
	defer c.hangUp()
	total := func() (sum float64) {
		for _, coll := range []string{counters, plain, ledger, things} {
			r, err := c.run(bson.D{{Key: "collStats", Value: coll}})
			spent, ok := r.at("requestUnits", "total").DoubleOK()
			if err != nil || !ok {
				w.bad("collStats: %v %s", err, r.Raw)
			}
			sum += spent
		}
		return sum
	}
	before := total()
	for range 100 {
		last := before
		time.Sleep(rests)
		if before = total(); before == last {
			break
		}
	}
	w.model.charged, w.model.replies = 0, 0
	for range 10 {
		c.bump()
		c.transact()
		c.read()
		c.scan()
		c.thing()
		time.Sleep(time.Second)
	}
	sum := w.model.charged
	after := total()
	if rounded := 0.005 * float64(w.model.replies+8); math.Abs(after-before-sum) > rounded {
		w.bad("replies told of %.2f RU, budgets were charged %.2f", sum, after-before)
	}
}

// budget lets clients send more than the budget of a collection allows, and checks that the charged RU stay within
// the provisioned rate.
func (w *world) budget() {
	const rate, seconds, clients, dearest = 400, 4, 4, 60
	c := w.newClient(904)
	defer c.hangUp()
	spent := func() float64 {
		r, err := c.run(bson.D{{Key: "collStats", Value: counters}})
		v, ok := r.at("requestUnits", "total").DoubleOK()
		if err != nil || !ok {
			w.bad("collStats: %v %s", err, r.Raw)
		}
		return v
	}
	r, err := c.run(bson.D{{Key: "customAction", Value: "UpdateCollection"}, {Key: "collection", Value: counters}, {Key: "offerThroughput", Value: rate}})
	if err != nil || r.code() != 0 {
		return // a rate so low cannot be divided among its partitions
	}
	before, begun := spent(), time.Now()
	var group sync.WaitGroup
	for n := range clients {
		other := w.newClient(910 + n)
		group.Go(func() {
			defer other.hangUp()
			for time.Since(begun) < seconds*time.Second {
				other.bump()
				time.Sleep(60 * time.Millisecond)
			}
		})
	}
	group.Wait()
	// A request is admitted while any of the budget is left, and is charged afterwards.
	if got := spent() - before; got > rate*(time.Since(begun).Seconds()+1)+clients*dearest {
		w.bad("%.0f RU were spent in %v of %d RU/s", got, time.Since(begun), rate)
	}
}
