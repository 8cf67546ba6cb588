package cursors

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
)

// writer is a client that changes documents which no other client changes, one after the other. Each change is
// idempotent, and is sent again until it is acknowledged.
type writer struct {
	*world
	client int
	ns     string
	has    map[int]int // the versions of its documents
	n      int
	r      *rand.Rand
}

func (w *world) writer(client int, ns string) *writer {
	return &writer{world: w, client: client, ns: ns, has: map[int]int{}, r: rand.New(rand.NewPCG(w.seed, uint64(100+client)))}
}

// work makes random changes until working ends. A change that has begun is completed.
func (p *writer) work(working, ctx context.Context) {
	for sleep(working, time.Duration(p.r.IntN(8))*time.Millisecond) {
		switch {
		case p.ns == tail || p.ns == small:
			p.n++
			p.append(ctx, p.client*100_000+p.n)
		case p.r.IntN(4) == 0:
			p.together(ctx, p.several())
		default:
			p.single(ctx, p.draw(p.key()))
		}
	}
}

func (p *writer) key() int { return p.client*keysEach + p.r.IntN(keysEach) }

// change is a change and the function that makes it.
type change struct {
	histories.Change
	do func(ctx context.Context, c *mongo.Collection) error
}

// draw draws a change of a document.
func (p *writer) draw(key int) change {
	version := int(p.version.Add(1))
	out := change{Change: histories.Change{Client: p.client, Key: key, Version: version}}
	there := p.has[key] != 0
	switch n := p.r.IntN(8); {
	case there && n < 2:
		out.Removes = true
		out.do = func(ctx context.Context, c *mongo.Collection) error {
			_, err := c.DeleteOne(ctx, on("_id", key))
			return err
		}
	case there && n < 5:
		out.do = func(ctx context.Context, c *mongo.Collection) error {
			res, err := c.UpdateOne(ctx, on("_id", key), on("$set", on("v", version)))
			if err == nil && res.MatchedCount != 1 {
				return errNotThere
			}
			return err
		}
	case there && n < 6:
		out.do = func(ctx context.Context, c *mongo.Collection) error {
			err := c.FindOneAndUpdate(ctx, on("_id", key), on("$set", on("v", version))).Err()
			if errors.Is(err, mongo.ErrNoDocuments) {
				return errNotThere
			}
			return err
		}
	default:
		out.do = func(ctx context.Context, c *mongo.Collection) error {
			_, err := c.ReplaceOne(ctx, document(key, 0)[:1], document(key, version), options.Replace().SetUpsert(true))
			return err
		}
	}
	return out
}

var errNotThere = errors.New("a document that was acknowledged is not there")

// until repeats an operation after errors caused by a killed server, and errors after which a transaction is retried.
// Any other error, or one after ctx has ended, is recorded as a failure and ends it.
func (p *writer) until(ctx context.Context, what string, do func() error) {
	for {
		err := do()
		switch {
		case err == nil:
			return
		case ctx.Err() != nil:
			p.bad("client %d, %s: %v", p.client, what, err)
			return
		case p.away(err), transient(err):
		default:
			p.bad("client %d, %s: %v", p.client, what, err)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func transient(err error) bool {
	var said mongo.ServerError
	return errors.As(err, &said) && said.HasErrorLabel("TransientTransactionError")
}

// single makes one change.
func (p *writer) single(ctx context.Context, x change) {
	x.Begin = p.now()
	p.until(ctx, "a write", func() error { return x.do(ctx, coll(p.all, p.ns)) })
	x.End = p.now()
	p.made(x)
}

// made records changes.
func (p *writer) made(list ...change) {
	for _, x := range list {
		if p.has[x.Key] = x.Version; x.Removes {
			delete(p.has, x.Key)
		}
		p.changed(p.ns, x.Change)
	}
	p.did("changes", len(list))
}

// several draws changes of different documents.
func (p *writer) several() (list []change) {
	taken := map[int]bool{}
	for range 2 + p.r.IntN(3) {
		if key := p.key(); !taken[key] {
			taken[key] = true
			list = append(list, p.draw(key))
		}
	}
	return list
}

// together makes changes in one transaction.
func (p *writer) together(ctx context.Context, list []change) {
	begin := int64(0)
	p.until(ctx, "a transaction", func() error {
		session, err := p.all.StartSession()
		if err != nil {
			return err
		}
		defer session.EndSession(ctx)
		if err := session.StartTransaction(); err != nil {
			return err
		}
		inside := mongo.NewSessionContext(ctx, session)
		for _, x := range list {
			if err := x.do(inside, coll(p.all, p.ns)); err != nil {
				_ = session.AbortTransaction(inside)
				return err
			}
		}
		if begin == 0 {
			begin = p.now()
		}
		return session.CommitTransaction(inside)
	})
	p.committed(list, begin, p.now())
}

// committed records the changes of a transaction.
func (p *writer) committed(list []change, begin, end int64) {
	for i := range list {
		list[i].Together, list[i].Begin, list[i].End = list[0].Version, begin, end
	}
	p.made(list...)
	p.did("transactions", 1)
}

// append adds a document to a capped collection.
func (p *writer) append(ctx context.Context, key int) {
	x := change{Change: histories.Change{Client: p.client, Key: key, Version: int(p.version.Add(1)), Begin: p.now()}}
	tried := false
	p.until(ctx, "an insert", func() error {
		_, err := coll(p.all, p.ns).InsertOne(ctx, document(key, x.Version))
		if tried && mongo.IsDuplicateKeyError(err) {
			return nil
		}
		tried = true
		return err
	})
	x.End = p.now()
	p.made(x)
}

// transactions runs transactions one after the other until working ends. Each reads all documents in batches, and
// changes the client's own documents between the batches.
func (w *world) transactions(working, ctx context.Context, client int) {
	p := w.writer(client, docs)
	for sleep(working, time.Duration(p.r.IntN(30))*time.Millisecond) {
		p.transaction(ctx)
	}
}

// transaction runs one transaction that reads all documents in batches and writes between them. Its read must be a
// snapshot that contains the client's own documents as they were in the transaction when the cursor was opened.
func (p *writer) transaction(ctx context.Context) {
	one := p.any(p.r)
	session, err := one.StartSession()
	if err != nil {
		p.bad("a session: %v", err)
		return
	}
	defer session.EndSession(ctx)
	_ = session.StartTransaction()
	inside := mongo.NewSessionContext(ctx, session)
	var list []change
	has := maps.Clone(p.has) // as the transaction sees it
	write := func() error {
		x := p.draw(p.key())
		for _, y := range list {
			if y.Key == x.Key { // each document is changed once, so that repeat can make the changes again
				return nil
			}
		}
		if err := x.do(inside, coll(one, p.ns)); err != nil {
			return err
		}
		list = append(list, x)
		if has[x.Key] = x.Version; x.Removes {
			delete(has, x.Key)
		}
		return nil
	}
	s := seen{question: drawQuestion(p.r, 0, 34*keysEach), ns: p.ns, at: "in a transaction that writes", client: p.client, sent: p.now()}
	s.batch = min(s.batch, 50)
	for n := p.r.IntN(3); n > 0 && err == nil; n-- {
		err = write()
	}
	s.own = maps.Clone(has)
	if err == nil {
		err = s.read(inside, coll(one, p.ns), func(rows []histories.Row) error {
			if s.back == 0 {
				s.back = p.now()
			}
			s.rows = append(s.rows, rows...)
			return write()
		})
	}
	if err != nil {
		_ = session.AbortTransaction(inside)
		if !p.away(err) && !transient(err) && !code(err, interrupted...) {
			p.bad("%s of %s %s: %v", s.question, s.ns, s.at, err)
		}
		p.did("aborted", 1)
		return
	}
	p.recordRead(s)
	begin := p.now()
	if err = session.CommitTransaction(inside); err == nil {
		p.committed(list, begin, p.now())
		return
	}
	if !p.away(err) && !transient(err) {
		p.bad("a commit: %v", err)
	}
	if len(list) > 0 {
		p.repeat(ctx, list, begin)
	}
}

// repeat makes the changes of a transaction again whose commit is undetermined, so that in the end they are made in
// either case. begin is the time at which the transaction was sent first.
func (p *writer) repeat(ctx context.Context, list []change, begin int64) {
	p.together(ctx, list)
	for i := range list {
		list[i].Begin = begin
	}
	p.know.Lock()
	defer p.know.Unlock()
	made := p.changes[p.ns]
	for i := range made {
		if made[i].Together == list[0].Together {
			made[i].Begin = begin
		}
	}
}
