package simulation

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// client is a client for one life of the server.
type client struct {
	*line
	w       *world
	number  int
	session bson.Binary
	txn     int64
}

// newClient makes a client with random numbers of its own.
func (w *world) newClient(number int) *client {
	rng := rand.New(rand.NewPCG(w.seed, uint64(w.life*1000+number)))
	id := binary.BigEndian.AppendUint64(nil, uint64(w.life))
	id = binary.BigEndian.AppendUint64(id, uint64(number))
	id[6], id[8] = 0x40, 0x80
	return &client{line: &line{net: w.net, rng: rng}, w: w, number: number, session: bson.Binary{Subtype: 4, Data: id}}
}

// in adds the client's session and its present txnNumber to a command, and further fields.
func (c *client) in(cmd bson.D, more ...bson.E) bson.D {
	cmd = append(cmd, bson.E{Key: "lsid", Value: bson.D{{Key: "id", Value: c.session}}}, bson.E{Key: "txnNumber", Value: c.txn})
	return append(cmd, more...)
}

// run sends a command to the database of the simulation and returns its reply, whose charge is recorded.
func (c *client) run(cmd bson.D) (reply, error) { return c.runOn(db, cmd) }

func (c *client) runOn(name string, cmd bson.D) (reply, error) {
	r, err := c.call(name, cmd)
	c.w.model.mu.Lock()
	defer c.w.model.mu.Unlock()
	if err != nil {
		c.w.count(&c.w.counts.lost)
		return r, err
	}
	charge, _ := r.at("requestCharge").DoubleOK()
	c.w.model.charged += charge
	c.w.model.replies++
	return r, nil
}

// live works until the life ends.
func (c *client) live() {
	defer c.hangUp()
	for !c.net.dead.Load() {
		time.Sleep(time.Duration(c.rng.IntN(300)) * time.Millisecond)
		if c.net.dead.Load() {
			return
		}
		switch c.rng.IntN(12) {
		case 0, 1, 2, 3:
			c.bump()
		case 4, 5:
			c.transact()
		case 6:
			c.read()
		case 7:
			c.scan()
		case 8, 9, 10:
			c.thing()
		case 11:
			c.mortal()
		}
	}
}

// tries is the maximum number of times that a client sends a write or a commit that it may repeat.
const tries = 3

// retried sends a retryable write, at most tries times, until a reply without the label RetryableWriteError comes.
func (c *client) retried(cmd bson.D) (reply, error) {
	c.txn++
	for try := 1; ; try++ {
		r, err := c.run(c.in(cmd))
		if err == nil && !r.label("RetryableWriteError") || try == tries {
			return r, err
		}
		if c.w.plan.forgets {
			c.txn++
		}
	}
}

// judge returns the outcome of a write by its reply or its error, and reports an unexpected error as a failure.
func (c *client) judge(what string, r reply, err error) outcome {
	switch code := r.code(); {
	case err != nil:
		c.w.count(&c.w.counts.unknown)
		return unknown
	case code == 0:
		c.w.count(&c.w.counts.acknowledged)
		return done
	case code == 16500:
		c.w.count(&c.w.counts.throttled)
		return refused
	case code == 112:
		c.w.count(&c.w.counts.refused)
		return refused
	case c.w.broken():
		return unknown
	default:
		c.w.bad("%s: %s", what, r.Raw)
		return unknown
	}
}

// drawPlace draws a document.
func (c *client) drawPlace() place {
	return place{[]string{counters, counters, plain}[c.rng.IntN(3)], int64(c.rng.IntN(countersDocs))}
}

// change returns the update of a document by a token.
func change(p place, token int64) bson.D {
	return bson.D{{Key: "update", Value: p.coll}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: p.filter()}, {Key: "u", Value: bson.D{
		{Key: "$inc", Value: bson.D{{Key: "n", Value: int64(1)}}}, {Key: "$push", Value: bson.D{{Key: "log", Value: token}}}}}}}}}
}

// bump changes a document.
func (c *client) bump() {
	p := c.drawPlace()
	token := c.w.model.token(p)
	cmd := change(p, token)
	if c.rng.IntN(4) == 0 {
		cmd = bson.D{{Key: "findAndModify", Value: p.coll}, {Key: "query", Value: p.filter()}, {Key: "new", Value: true}, {Key: "update", Value: bson.D{
			{Key: "$inc", Value: bson.D{{Key: "n", Value: int64(1)}}}, {Key: "$push", Value: bson.D{{Key: "log", Value: token}}}}}}
	}
	r, err := c.retried(cmd)
	o := c.judge("an update", r, err)
	if n, ok := r.at("n").AsInt64OK(); o == done && ok && n != 1 {
		c.w.bad("an update of %v changed %d documents: %s", p, n, r.Raw)
	}
	c.w.model.settle(token, o, p)
	c.w.note("client %d: change %d of %v: %d", c.number, token, p, o)
}

// transact runs a transaction that changes two documents and adds an entry to the ledger. Some of these transactions
// also read in batches between their writes.
func (c *client) transact() {
	a, b := c.drawPlace(), c.drawPlace()
	if a == b {
		return
	}
	token := c.w.model.token(a, b)
	c.txn++
	first := true
	in := func(cmd bson.D) (reply, error) {
		more := []bson.E{{Key: "autocommit", Value: false}}
		if first {
			more = append(more, bson.E{Key: "startTransaction", Value: true})
			if c.rng.IntN(2) == 0 {
				more = append(more, bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}}})
			}
		}
		first = false
		return c.run(c.in(cmd, more...))
	}
	settle := func(o outcome) {
		c.w.model.settle(token, o, a, b)
		c.w.model.mu.Lock()
		c.w.model.entries[token] = o
		c.w.model.mu.Unlock()
		c.w.note("client %d: transaction %d of %v and %v: %d", c.number, token, a, b, o)
	}
	c.w.model.mu.Lock()
	c.w.model.entries[token] = open
	c.w.model.mu.Unlock()
	if !c.statements(in, token, a, b) {
		_, _ = c.runOn("admin", c.in(bson.D{{Key: "abortTransaction", Value: 1}}, bson.E{Key: "autocommit", Value: false}))
		settle(refused)
		return
	}
	settle(c.commit())
}

// statements sends the statements of a transaction: changes of the documents a and b, and an entry in the ledger,
// with the token. ok is true if all succeeded.
func (c *client) statements(in inside, token int64, a, b place) (ok bool) {
	good := func(r reply, err error) bool {
		if err == nil && r.code() == 0 {
			time.Sleep(time.Duration(c.rng.IntN(20)) * time.Millisecond)
			return true
		}
		if err == nil && !r.label("TransientTransactionError") && r.code() != 16500 && !c.w.broken() {
			c.w.bad("a statement of a transaction: %s", r.Raw)
		}
		return false
	}
	var cursor *browse
	opened := -1 // the statement before which the cursor is opened
	if c.rng.IntN(2) == 0 {
		cursor, opened = c.newBrowse(a.coll), c.rng.IntN(3)
	}
	for i, cmd := range []bson.D{change(a, token), change(b, token),
		{{Key: "insert", Value: ledger}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: token}}}}}} {
		if i == opened && !good(cursor.open(c, in)) {
			return false
		}
		if !good(in(cmd)) {
			return false
		}
		if cursor == nil || i < opened {
			continue
		}
		if i < 2 {
			cursor.wrote([]place{a, b}[i])
		}
		if !good(cursor.more(c, in, c.rng.IntN(3))) {
			return false
		}
	}
	return cursor == nil || good(cursor.end(c, in))
}

// commit commits, and repeats that after a lost reply or UnknownTransactionCommitResult, at most tries times in all. The
// outcome is unknown after the last of them, and after any other error that does not abort the transaction.
func (c *client) commit() outcome {
	life := c.w.life
	for try := 1; ; try++ {
		r, err := c.runOn("admin", c.in(bson.D{{Key: "commitTransaction", Value: 1}}, bson.E{Key: "autocommit", Value: false}))
		switch {
		case err == nil && r.code() == 0:
			c.w.count(&c.w.counts.transactions)
			return done
		case err == nil && r.label("TransientTransactionError"):
			c.w.count(&c.w.counts.refused)
			return refused
		case err == nil && !r.label("UnknownTransactionCommitResult"):
			if c.w.broken() || life != c.w.life {
				return unknown
			}
			c.w.bad("a commit: %s", r.Raw)
			return unknown
		case try == tries:
			c.w.count(&c.w.counts.unknown)
			return unknown
		}
	}
}

// concern draws a read concern.
func (c *client) concern() bson.E {
	level := []string{"local", "majority", "linearizable", "available"}[c.rng.IntN(4)]
	return bson.E{Key: "readConcern", Value: bson.D{{Key: "level", Value: level}}}
}

// read reads a document.
func (c *client) read() {
	p := c.drawPlace()
	must := c.w.model.acknowledged(p)
	r, err := c.run(bson.D{{Key: "find", Value: p.coll}, {Key: "filter", Value: p.filter()}, c.concern()})
	if err != nil || c.mayFail("a read", r) {
		return
	}
	c.w.count(&c.w.counts.reads)
	rows := r.rows()
	if len(rows) != 1 {
		c.w.bad("%v was found %d times", p, len(rows))
		return
	}
	c.look(p.coll, rows[0], map[place][]int64{p: must})
}

// mayFail reports whether a command has failed; an error that is not allowed is reported as a failure of the test.
func (c *client) mayFail(what string, r reply) bool {
	switch code := r.code(); {
	case code == 0:
		return false
	case code == 16500:
		c.w.count(&c.w.counts.throttled)
	case !c.w.broken():
		c.w.bad("%s: %s", what, r.Raw)
	}
	return true
}

// look compares a document with the model.
func (c *client) look(coll string, raw bson.Raw, must map[place][]int64) {
	var d counted
	if err := bson.Unmarshal(raw, &d); err != nil {
		c.w.bad("%s: %v", raw, err)
		return
	}
	p := place{coll, d.ID}
	if err := c.w.model.look(p, &d, must[p]); err != nil {
		c.w.bad("%v", err)
	}
}

// scan reads all documents of a collection in batches, by an index or by a collection scan, and compares them with
// the model.
func (c *client) scan() {
	coll := []string{counters, plain}[c.rng.IntN(2)]
	must := map[place][]int64{}
	for id := range int64(countersDocs) {
		must[place{coll, id}] = c.w.model.acknowledged(place{coll, id})
	}
	hint := []bson.D{{{Key: "n", Value: 1}}, {{Key: "$natural", Value: 1}}, {{Key: "log", Value: 1}}}[c.rng.IntN(3)]
	r, err := c.run(bson.D{{Key: "find", Value: coll}, {Key: "hint", Value: hint}, {Key: "batchSize", Value: 5}, c.concern()})
	found := map[int64]bool{}
	for {
		if err != nil || c.mayFail("a scan", r) {
			return
		}
		for _, raw := range r.rows() {
			id := raw.Lookup("_id").AsInt64()
			if found[id] {
				c.w.bad("%v comes twice in a scan by %v", place{coll, id}, hint)
			}
			found[id] = true
			c.look(coll, raw, must)
		}
		cursor, _ := r.at("cursor", "id").AsInt64OK()
		if cursor == 0 {
			break
		}
		time.Sleep(time.Duration(c.rng.IntN(50)) * time.Millisecond)
		r, err = c.run(bson.D{{Key: "getMore", Value: cursor}, {Key: "collection", Value: coll}, {Key: "batchSize", Value: 5}})
		if err == nil && (r.code() == 43 || r.code() == 175) {
			return // the collection was resharded meanwhile
		}
	}
	c.w.count(&c.w.counts.reads)
	if len(found) != countersDocs {
		c.w.bad("a scan of %s by %v finds %d documents", coll, hint, len(found))
	}
}
