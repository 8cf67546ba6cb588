package simulation

import (
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// thingsEach is the number of documents of the collection things that belong to one client, which inserts and
// deletes them.
const thingsEach = 20

// thing upserts or deletes a document that only this client changes, and records the outcome in the model.
func (c *client) thing() {
	id := int64(c.number*thingsEach + c.rng.IntN(thingsEach))
	m := c.w.model
	m.mu.Lock()
	m.next++
	version := m.next
	x := m.things[id]
	if x == nil {
		x = &thing{}
		m.things[id] = x
	}
	m.mu.Unlock()
	filter := bson.D{{Key: "_id", Value: id}}
	cmd := bson.D{{Key: "update", Value: things}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: filter}, {Key: "upsert", Value: true},
		{Key: "u", Value: document(id, version)}}}}}
	if c.rng.IntN(3) == 0 {
		version = 0
		cmd = bson.D{{Key: "delete", Value: things}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: filter}, {Key: "limit", Value: 1}}}}}
	}
	r, err := c.retried(cmd)
	o := c.judge("a replacement", r, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch o {
	case done:
		x.known, x.maybe = version, nil
	case unknown:
		x.maybe = append(x.maybe, version)
	}
	c.w.note("client %d: thing %d becomes %d: %d", c.number, id, version, o)
}

// document returns a document of the collection things; all its fields but _id are computed from its version, so that
// a damaged one can be detected.
func document(id, version int64) bson.D {
	tags := bson.A{}
	for i := range version % 4 {
		tags = append(tags, fmt.Sprint("t", version+i))
	}
	return bson.D{{Key: "_id", Value: id}, {Key: "v", Value: version}, {Key: "tags", Value: tags}, {Key: "filler", Value: string(make([]byte, version*37%900))}}
}

// sameThing compares the version of a document with the model.
func (m *model) sameThing(id, version int64) error {
	x := m.things[id]
	if x == nil {
		x = &thing{}
	}
	if version == x.known || slices.Contains(x.maybe, version) {
		return nil
	}
	return fmt.Errorf("thing %d has version %d; acknowledged is %d, possible %v", id, version, x.known, x.maybe)
}

// mortal inserts a document that expires, or checks that documents are still there that must not have expired yet.
func (c *client) mortal() {
	m := c.w.model
	if c.rng.IntN(3) == 0 {
		c.lookMortals()
		return
	}
	m.mu.Lock()
	m.next++
	id := m.next
	at := c.w.now().Truncate(time.Millisecond)
	m.expires[id] = mortal{at, open}
	m.mu.Unlock()
	r, err := c.retried(bson.D{{Key: "insert", Value: expiring}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: id}, {Key: "at", Value: at}}}}})
	o := c.judge("an insert", r, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expires[id] = mortal{at, o}
}

// lookMortals compares the expiring documents with the wall clock.
func (c *client) lookMortals() {
	m := c.w.model
	m.mu.Lock()
	var must []int64
	for id, x := range m.expires {
		if x.outcome == done {
			must = append(must, id)
		}
	}
	m.mu.Unlock()
	r, err := c.run(bson.D{{Key: "find", Value: expiring}, {Key: "batchSize", Value: 10000}})
	if err != nil || c.mayFail("a read", r) {
		return
	}
	found := map[int64]bool{}
	for _, raw := range r.rows() {
		found[raw.Lookup("_id").AsInt64()] = true
	}
	c.w.tick()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range must {
		x := m.expires[id]
		if !found[id] && x.at.Add(expiresAfter).After(m.wall) {
			c.w.bad("document %d of %v expired before its time: it was %v", id, x.at, m.wall)
		}
		if !found[id] {
			delete(m.expires, id)
			c.w.count(&c.w.counts.expired)
		}
	}
}

// tick reads the wall clock.
func (w *world) tick() {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	if now := w.now(); now.After(w.model.wall) {
		w.model.wall = now
	}
}

// shape changes the structure of collections until the life ends.
func (c *client) shape() {
	defer c.hangUp()
	for !c.net.dead.Load() {
		time.Sleep(time.Duration(c.rng.IntN(4000)) * time.Millisecond)
		if c.net.dead.Load() {
			return
		}
		on, name := "admin", db+"."+counters
		var cmd bson.D
		switch c.rng.IntN(7) {
		case 0, 1:
			cmd = bson.D{{Key: "split", Value: name}, {Key: "find", Value: place{counters, int64(c.rng.IntN(countersDocs))}.filter()}}
		case 2:
			on, cmd = db, bson.D{{Key: "customAction", Value: "MergePartitions"}, {Key: "collection", Value: counters}}
		case 3:
			key := []string{"k", "g", "_id"}[c.rng.IntN(3)]
			cmd = bson.D{{Key: "reshardCollection", Value: name}, {Key: "key", Value: bson.D{{Key: key, Value: "hashed"}}}, {Key: "numInitialChunks", Value: 1 + c.rng.IntN(4)}}
		case 4:
			on, cmd = db, bson.D{{Key: "createIndexes", Value: things}, {Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "tags", Value: 1}, {Key: "v", Value: -1}}}, {Key: "name", Value: "more"}}}}}
		case 5:
			on, cmd = db, bson.D{{Key: "dropIndexes", Value: things}, {Key: "index", Value: "more"}}
		case 6:
			on, cmd = db, bson.D{{Key: "customAction", Value: "UpdateCollection"}, {Key: "collection", Value: counters}, {Key: "offerThroughput", Value: 400 + 100*c.rng.IntN(30)}}
		}
		if r, err := c.runOn(on, cmd); err == nil && r.code() == 0 {
			c.w.count(&c.w.counts.structure)
			c.w.note("done: %v", cmd)
		}
	}
}
