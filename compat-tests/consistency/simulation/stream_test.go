package simulation

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// stream follows the changes of the database, or of one collection, by change streams that resume in each life of
// the server.
type stream struct {
	coll   string // "" = all of the database
	token  bson.Raw
	counts map[place]int64 // the last change seen
	ledger map[int64]bool
	things map[int64]int64 // versions, 0 = deleted
}

func newStream(coll string) *stream {
	return &stream{coll: coll, counts: map[place]int64{}, ledger: map[int64]bool{}, things: map[int64]int64{}}
}

// open opens a change stream that resumes after the last event, and returns the id of its cursor; 0 after an error.
func (s *stream) open(c *client) int64 {
	stage := bson.D{}
	if s.token != nil {
		stage = append(stage, bson.E{Key: "resumeAfter", Value: s.token})
	}
	if c.rng.IntN(2) == 0 {
		stage = append(stage, bson.E{Key: "fullDocument", Value: "updateLookup"})
	}
	var target any = 1
	if s.coll != "" {
		target = s.coll
	}
	r, err := c.run(bson.D{{Key: "aggregate", Value: target}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$changeStream", Value: stage}}}},
		{Key: "cursor", Value: bson.D{{Key: "batchSize", Value: c.rng.IntN(8)}}}})
	if err != nil || c.mayFail("a change stream", r) {
		return 0
	}
	s.take(c, r)
	id, _ := r.at("cursor", "id").AsInt64OK()
	return id
}

// follow opens the change stream and reads some batches, again and again until the life of the server ends.
func (s *stream) follow(c *client) {
	defer c.hangUp()
	for !c.net.dead.Load() {
		time.Sleep(time.Duration(c.rng.IntN(200)) * time.Millisecond)
		s.some(c, c.rng.IntN(30))
	}
}

// some opens the change stream and reads at most the given number of batches. It returns the number of events.
func (s *stream) some(c *client, batches int) (events int) {
	before := c.w.counts.events
	id := s.open(c)
	for range batches {
		if id == 0 {
			break
		}
		r, err := c.run(bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: s.name()}, {Key: "batchSize", Value: 1 + c.rng.IntN(20)}, {Key: "maxTimeMS", Value: 500}})
		if err != nil || c.mayFail("a getMore of a change stream", r) {
			break
		}
		s.take(c, r)
	}
	if id != 0 {
		_, _ = c.run(bson.D{{Key: "killCursors", Value: s.name()}, {Key: "cursors", Value: bson.A{id}}})
	}
	return c.w.counts.events - before
}

// name returns the collection name for getMore.
func (s *stream) name() string {
	if s.coll == "" {
		return "$cmd.aggregate"
	}
	return s.coll
}

// take takes a batch.
func (s *stream) take(c *client, r reply) {
	for _, event := range r.rows() {
		c.w.count(&c.w.counts.events)
		if err := s.event(event); err != nil {
			c.w.bad("stream %q: %v: %s", s.coll, err, event)
		}
		s.token = append(bson.Raw(nil), event.Lookup("_id").Document()...)
	}
	if t, ok := r.at("cursor", "postBatchResumeToken").DocumentOK(); ok {
		s.token = append(bson.Raw(nil), t...)
	}
}

// event compares an event with those before.
func (s *stream) event(e bson.Raw) error {
	r := reply{e}
	coll, _ := r.at("ns", "coll").StringValueOK()
	id, _ := r.at("documentKey", "_id").AsInt64OK()
	kind := r.at("operationType").StringValue()
	switch coll {
	case counters, plain:
		if kind != "update" {
			return nil // of the preparation, or of a structure change
		}
		p := place{coll, id}
		n, ok := r.at("updateDescription", "updatedFields", "n").AsInt64OK()
		if !ok || n != s.counts[p]+1 {
			return fmt.Errorf("%v: change %d came after %d", p, n, s.counts[p])
		}
		s.counts[p] = n
	case ledger:
		if s.ledger[id] || kind != "insert" {
			return fmt.Errorf("%s of entry %d, which was there: %v", kind, id, s.ledger[id])
		}
		s.ledger[id] = true
	case things:
		is := s.things[id] != 0
		if kind != map[bool]string{true: "replace", false: "insert"}[is] && (kind != "delete" || !is) {
			return fmt.Errorf("%s of thing %d, which had version %d", kind, id, s.things[id])
		}
		v, _ := r.at("fullDocument", "v").AsInt64OK()
		if kind == "delete" {
			v = 0
		}
		s.things[id] = v
	}
	return nil
}

// complete returns a description of a change that the stream has not returned, or "" if it has returned all.
func (s *stream) complete(f *found) (missing string) {
	for p, d := range f.counted {
		if (s.coll == "" || s.coll == p.coll) && s.counts[p] != d.N {
			return fmt.Sprintf("%v has had %d changes, the stream told of %d", p, d.N, s.counts[p])
		}
	}
	if s.coll != "" {
		return ""
	}
	for id := range f.ledger {
		if !s.ledger[id] {
			return fmt.Sprintf("entry %d of the ledger was not told", id)
		}
	}
	if len(s.ledger) != len(f.ledger) {
		return fmt.Sprintf("%d entries of the ledger, the stream told of %d", len(f.ledger), len(s.ledger))
	}
	for id, v := range s.things {
		if f.things[id] != v {
			return fmt.Sprintf("thing %d has version %d, the stream told of %d", id, f.things[id], v)
		}
	}
	return ""
}
