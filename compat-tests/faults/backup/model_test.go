package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// moment is a timestamp (seconds and increment) as one number, so that moments can be compared.
type moment uint64

func momentOf(ts bson.Timestamp) moment { return moment(ts.T)<<32 | moment(ts.I) }

func (m moment) String() string { return fmt.Sprintf("%d,%d", uint32(m>>32), uint32(m)) }

// clock holds the newest operation time that any reply of the server had.
type clock struct{ at atomic.Uint64 }

func (c *clock) see(m moment) {
	for {
		old := c.at.Load()
		if uint64(m) <= old || c.at.CompareAndSwap(old, uint64(m)) {
			return
		}
	}
}

// content is the expected or restored content of a collection: documents by _id, as text, and the names of
// indexes.
type content struct {
	docs    map[int32]string
	indexes map[string]bool
}

// database maps the collections of a database to their contents; a collection without documents and indexes counts
// as a missing one.
type database map[string]*content

func (d database) coll(name string) *content {
	c := d[name]
	if c == nil {
		c = &content{map[int32]string{}, map[string]bool{}}
		d[name] = c
	}
	return c
}

func (d database) clone() database {
	out := database{}
	for name, c := range d {
		out[name] = &content{maps.Clone(c.docs), maps.Clone(c.indexes)}
	}
	return out
}

// differs returns the first difference found between two databases as a text, "" if there is none.
func (d database) differs(o database) string {
	names := map[string]bool{}
	for name := range d {
		names[name] = true
	}
	for name := range o {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := d.coll(name), o.coll(name)
		if !maps.Equal(a.indexes, b.indexes) {
			return fmt.Sprintf("%s: indexes %v, wanted %v", name, slices.Sorted(maps.Keys(a.indexes)), slices.Sorted(maps.Keys(b.indexes)))
		}
		for id := range b.docs {
			if a.docs[id] != b.docs[id] {
				return fmt.Sprintf("%s: document %d is %.80q, wanted %.80q", name, id, a.docs[id], b.docs[id])
			}
		}
		if len(a.docs) != len(b.docs) {
			return fmt.Sprintf("%s: %d documents, wanted %d", name, len(a.docs), len(b.docs))
		}
	}
	return ""
}

// change is one change that a writer made in its database, later than the moment after, and not later than by.
type change struct {
	what      string
	after, by moment
	apply     func(database)
}

// writer changes its own database.
type writer struct {
	name    string
	rnd     *rand.Rand
	clock   *clock
	version int
	now     database
	changes []change
	pending *change // a change whose outcome is undetermined
}

// made records that a change was made.
func (w *writer) made(c change) {
	c.apply(w.now)
	w.changes = append(w.changes, c)
}

// at returns all states that the writer's database may have had at a moment m: the state after all changes that
// certainly came by then, and the ones with the changes that may have, added one after the other.
func (w *writer) at(m moment) (out []database) {
	d, may := database{}, 0
	for i, c := range w.changes {
		if c.by > m {
			break
		}
		c.apply(d)
		may = i + 1
	}
	out = append(out, d.clone())
	for _, c := range w.changes[may:] {
		if c.after >= m {
			break
		}
		c.apply(d)
		out = append(out, d.clone())
	}
	return out
}

// document returns a document with a new version.
func (w *writer) document(id int32, pad int) bson.D {
	w.version++
	return bson.D{{Key: "_id", Value: id}, {Key: "k", Value: id % 17}, {Key: "v", Value: int32(w.version)}, {Key: "pad", Value: strings.Repeat("x", pad)}}
}

// run runs a command on a database and returns the operation time of the reply.
func run(ctx context.Context, db *mongo.Database, cmd bson.D) (moment, error) {
	reply, err := db.RunCommand(ctx, cmd).Raw()
	if err != nil {
		return 0, err
	}
	var r struct {
		OperationTime bson.Timestamp
		WriteErrors   []bson.Raw
	}
	if err := bson.Unmarshal(reply, &r); err != nil {
		return 0, err
	}
	if len(r.WriteErrors) > 0 {
		return 0, fmt.Errorf("%v", r.WriteErrors)
	}
	return momentOf(r.OperationTime), nil
}

// refused reports whether an error is a server's answer, after which the command has certainly changed nothing.
func refused(err error) bool {
	var command mongo.CommandError
	return errors.As(err, &command) && !mongo.IsNetworkError(err) && !mongo.IsTimeout(err) && !command.HasErrorLabel("UnknownTransactionCommitResult")
}

// step makes one random change in the writer's database and records it. It returns an error if the reply did not
// arrive; then the change is undecided until settle.
func (w *writer) step(ctx context.Context, client *mongo.Client) error {
	c, do := w.draw(client.Database(w.name))
	c.after = moment(w.clock.at.Load())
	w.pending = &c
	by, err := do(ctx)
	if refused(err) {
		w.pending = nil
		return nil
	}
	if err != nil {
		return err
	}
	w.pending = nil
	c.by = by
	w.made(c)
	w.clock.see(by)
	return nil
}

// draw returns a random change, and a function that makes it in the database.
func (w *writer) draw(db *mongo.Database) (change, func(context.Context) (moment, error)) {
	coll := string("abc"[w.rnd.IntN(3)])
	id := int32(w.rnd.IntN(60))
	doc := w.document(id, w.rnd.IntN(1500))
	text := print(doc)
	command := func(cmd bson.D) func(context.Context) (moment, error) {
		return func(ctx context.Context) (moment, error) { return run(ctx, db, cmd) }
	}
	switch n := w.rnd.IntN(100); {
	case n < 45:
		return change{what: "upsert " + coll, apply: func(d database) { d.coll(coll).docs[id] = text }},
			command(bson.D{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "u", Value: doc}, {Key: "upsert", Value: true}}}}})
	case n < 60:
		return change{what: "delete " + coll, apply: func(d database) { delete(d.coll(coll).docs, id) }},
			command(bson.D{{Key: "delete", Value: coll}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "limit", Value: 1}}}}})
	case n < 80:
		other := w.document(id+100, 10)
		return change{what: "transaction", apply: func(d database) { d.coll("a").docs[id+100], d.coll("b").docs[id+100] = print(other), print(other) }},
			func(ctx context.Context) (moment, error) { return transaction(ctx, db, other) }
	case n < 88:
		return change{what: "createIndexes " + coll, apply: func(d database) { d.coll(coll).indexes["v_1"] = true }},
			command(bson.D{{Key: "createIndexes", Value: coll}, {Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "v", Value: 1}}}, {Key: "name", Value: "v_1"}}}}})
	case n < 92:
		return change{what: "dropIndexes " + coll, apply: func(d database) { delete(d.coll(coll).indexes, "v_1") }},
			command(bson.D{{Key: "dropIndexes", Value: coll}, {Key: "index", Value: "v_1"}})
	case n < 95:
		return change{what: "rename", apply: func(d database) { d["d"] = d.coll("b"); delete(d, "b") }},
			func(ctx context.Context) (moment, error) {
				return run(ctx, db.Client().Database("admin"), bson.D{{Key: "renameCollection", Value: w.name + ".b"}, {Key: "to", Value: w.name + ".d"}, {Key: "dropTarget", Value: true}})
			}
	case n < 99:
		return change{what: "drop " + coll, apply: func(d database) { delete(d, coll) }}, command(bson.D{{Key: "drop", Value: coll}})
	}
	return change{what: "dropDatabase", apply: func(d database) { clear(d) }}, command(bson.D{{Key: "dropDatabase", Value: 1}})
}

// transaction writes a document into two collections in one transaction, and returns the operation time of its
// commit.
func transaction(ctx context.Context, db *mongo.Database, doc bson.D) (moment, error) {
	s, err := db.Client().StartSession()
	if err != nil {
		return 0, err
	}
	defer s.EndSession(context.WithoutCancel(ctx))
	if err := s.StartTransaction(); err != nil {
		return 0, err
	}
	in := mongo.NewSessionContext(ctx, s)
	for _, coll := range []string{"a", "b"} {
		update := bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: doc[0].Value}}}, {Key: "u", Value: doc}, {Key: "upsert", Value: true}}
		if _, err := run(in, db, bson.D{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{update}}}); err != nil {
			_ = s.AbortTransaction(context.WithoutCancel(ctx))
			return 0, err
		}
	}
	if err := s.CommitTransaction(ctx); err != nil {
		return 0, err
	}
	return momentOf(*s.OperationTime()), nil
}

func print(doc any) string {
	b, err := bson.MarshalExtJSON(doc, true, false)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// read returns the content of a database and its operation time. It checks that countDocuments and, if a
// collection has it, the writer's index v_1 find all documents.
func read(ctx context.Context, db *mongo.Database) (database, moment, error) {
	out := database{}
	names, err := db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		c := &content{map[int32]string{}, map[string]bool{}}
		specs, err := db.Collection(name).Indexes().ListSpecifications(ctx)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range specs {
			if s.Name == "v_1" {
				c.indexes[s.Name] = true
			}
		}
		if err := readInto(ctx, db.Collection(name), c); err != nil {
			return nil, 0, err
		}
		if len(c.docs)+len(c.indexes) > 0 {
			out[name] = c
		}
	}
	at, err := run(ctx, db, bson.D{{Key: "ping", Value: 1}})
	return out, at, err
}

func readInto(ctx context.Context, coll *mongo.Collection, c *content) error {
	filters := []bson.D{{}}
	if c.indexes["v_1"] {
		filters = append(filters, bson.D{{Key: "v", Value: bson.D{{Key: "$gte", Value: 0}}}})
	}
	for i, filter := range filters {
		cursor, err := coll.Find(ctx, filter)
		if err != nil {
			return err
		}
		var docs []bson.D
		if err := cursor.All(ctx, &docs); err != nil {
			return err
		}
		if i > 0 && len(docs) != len(c.docs) {
			return fmt.Errorf("%s: the index finds %d documents of %d", coll.Name(), len(docs), len(c.docs))
		}
		for _, d := range docs {
			c.docs[d[0].Value.(int32)] = print(d)
		}
	}
	n, err := coll.CountDocuments(ctx, bson.D{})
	if err == nil && int(n) != len(c.docs) {
		err = fmt.Errorf("%s: countDocuments says %d, and there are %d", coll.Name(), n, len(c.docs))
	}
	return err
}

// settle determines, after a kill, whether the last change, which got no reply, was made, by reading the database.
func (w *writer) settle(ctx context.Context, client *mongo.Client) error {
	have, at, err := read(ctx, client.Database(w.name))
	if err != nil {
		return err
	}
	w.clock.see(at)
	c := w.pending
	w.pending = nil
	without := have.differs(w.now)
	if c != nil && without != "" {
		c.by = at
		w.made(*c)
		without = have.differs(w.now)
	}
	if without != "" {
		return fmt.Errorf("%s after a kill: %s", w.name, without)
	}
	return nil
}
