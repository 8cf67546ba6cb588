package differential

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// write is a command that changes documents, for self.
type write struct {
	kind    string
	command bson.D
	many    bool // an error in the middle keeps the changes before it
}

// writesPerSet is the number of writes to a set.
const writesPerSet = 12

// write draws a random write. A write of a single document names it by _id, or is the first in a unique order.
func (d drawer) write(n int) *write {
	some := d.filter(1)
	single := bson.D{{Key: "_id", Value: d.someID(n)}}
	update := func(q bson.D, u any, more ...bson.E) bson.D {
		return bson.D{{Key: "update", Value: self{}}, {Key: "updates", Value: bson.A{append(bson.D{{Key: "q", Value: q}, {Key: "u", Value: u}}, more...)}}}
	}
	multi := bson.E{Key: "multi", Value: true}
	switch d.IntN(14) {
	case 0, 1, 2, 3:
		q, u, filters := d.update(some)
		more := []bson.E{multi}
		if filters != nil {
			more = append(more, bson.E{Key: "arrayFilters", Value: filters})
		}
		if d.rarely(6) {
			more = append(more, bson.E{Key: "collation", Value: d.collation()})
		}
		return &write{"update", update(q, u, more...), true}
	case 4, 5:
		q, u, filters := d.update(append(single, some...))
		if filters != nil {
			return &write{"update", update(q, u, bson.E{Key: "arrayFilters", Value: filters}), false}
		}
		return &write{"update", update(q, u), false}
	case 6:
		i := n + d.IntN(40)
		q := bson.D{{Key: "_id", Value: int32(1000 + i)}, {Key: "k", Value: int32(i % keys)}}
		_, u, _ := d.update(nil)
		if _, pipeline := u.(bson.A); pipeline {
			u = one("$set", one("a", d.value(2)))
		}
		return &write{"upsert", update(q, u, bson.E{Key: "upsert", Value: true}), false}
	case 7:
		return &write{"delete", bson.D{{Key: "delete", Value: self{}}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: all(some, d.filter(0))}, {Key: "limit", Value: int32(0)}}}}}, true}
	case 8:
		return &write{"delete", bson.D{{Key: "delete", Value: self{}}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: append(single, some...)}, {Key: "limit", Value: int32(1)}}}}}, false}
	case 9, 10:
		c := bson.D{{Key: "findAndModify", Value: self{}}, {Key: "query", Value: some}, {Key: "sort", Value: d.sort()}}
		if d.rarely(4) {
			c = append(c, bson.E{Key: "remove", Value: true})
		} else {
			q, u, filters := d.update(some)
			c[1].Value = q
			c = append(c, bson.E{Key: "update", Value: u}, bson.E{Key: "new", Value: d.rarely(2)})
			if filters != nil {
				c = append(c, bson.E{Key: "arrayFilters", Value: filters})
			}
		}
		if d.rarely(3) {
			c = append(c, bson.E{Key: "fields", Value: bson.D{{Key: "a", Value: int32(1)}, {Key: "n", Value: int32(1)}}})
		}
		return &write{"findAndModify", c, false}
	case 11:
		i := 2000 + d.IntN(1000)
		list := bson.A{}
		for j := range 1 + d.IntN(5) {
			doc := d.document(i + j*7)
			doc[0].Value = int32(i + j*7)
			list = append(list, doc)
		}
		return &write{"insert", bson.D{{Key: "insert", Value: self{}}, {Key: "documents", Value: list}}, true}
	case 12:
		i := n + d.IntN(20)
		doc := d.document(i)
		doc[0].Value = int32(3000 + i)
		return &write{"replacement", update(bson.D{{Key: "_id", Value: doc[0].Value}, {Key: "k", Value: doc[1].Value}}, doc[1:], bson.E{Key: "upsert", Value: true}), false}
	}
	return &write{"update", update(some, bson.A{one("$set", bson.D{{Key: "x", Value: (&pipe{drawer: d}).expression()}})}, multi), true}
}

// someID returns the _id of a document that probably exists.
func (d drawer) someID(n int) any { return int32(d.IntN(n + 1)) }

// update draws a filter, update operators that cannot fail on the documents that match it, and array filters.
func (d drawer) update(some bson.D) (q bson.D, u any, filters bson.A) {
	array := func() bson.D { return append(one("a", one("$type", "array")), drop(some, "a")...) }
	switch d.IntN(12) {
	case 0, 1:
		return some, one("$set", one(oneOf(d, "a", "b", "c"), d.value(3))), nil
	case 2:
		return some, one("$unset", one(oneOf(d, "a", "b", "a.b", "n"), "")), nil
	case 3:
		return some, one(oneOf(d, "$min", "$max"), one(oneOf(d, "b", "c"), d.scalar())), nil
	case 4:
		// The greatest integer cannot be incremented: an update of many documents would end at one that has it.
		return append(one("n", one("$not", one("$gt", float64(1<<62)))), drop(some, "n")...), one("$inc", one("n", int32(d.IntN(3)))), nil
	case 5:
		if some == nil {
			break
		}
		return array(), one("$push", one("a", bson.D{{Key: "$each", Value: bson.A{d.value(1), d.value(1)}}, {Key: "$slice", Value: int32(-4)}})), nil
	case 6:
		if some == nil {
			break
		}
		return array(), one(oneOf(d, "$addToSet", "$pull"), one("a", d.number())), nil
	case 7:
		if some == nil {
			break
		}
		return array(), one("$pull", one("a", one(oneOf(d, "$in", "$gte", "$exists", "$type"), d.number()))), nil
	case 8:
		if some == nil {
			break
		}
		return array(), one("$set", one("a.$[e]", d.value(1))), bson.A{one("e", one(d.order(), d.number()))}
	case 9:
		if some == nil {
			break
		}
		return append(one("a", one("$elemMatch", one(d.order(), d.number()))), drop(some, "a")...), one("$set", one("a.$", d.value(1))), nil
	case 10:
		return some, bson.A{one("$set", one(oneOf(d, "a", "b"), (&pipe{drawer: d}).expression()))}, nil
	}
	return some, one("$set", bson.D{{Key: "s", Value: d.text()}, {Key: "n", Value: d.number()}}), nil
}

// drop removes the conditions on a field from a filter.
func drop(q bson.D, name string) bson.D {
	return slices.DeleteFunc(slices.Clone(q), func(e bson.E) bool { return e.Key == name })
}

// writeCommand returns the command of a write in a way.
func (k *populatedWay) writeCommand(w *write) bson.D {
	return append(bind(w.command, k.coll, k.foreign).(bson.D), k.session...)
}

// apply runs a write in a way.
func (k *populatedWay) apply(w *write) (answer, error) {
	reply, err := k.conn.reply(k.set.db, k.writeCommand(w))
	if err != nil {
		return answer{}, err
	}
	return written(reply)
}

// written returns the reply to a write as an answer of one row, for comparison.
func written(reply bson.Raw) (a answer, err error) {
	if a.code, a.message = failed(reply); a.code != 0 {
		return a, nil
	}
	var said bson.D
	for _, field := range []string{"n", "nModified", "upserted", "value"} {
		if v, err := reply.LookupErr(field); err == nil {
			said = append(said, bson.E{Key: field, Value: v})
		}
	}
	raw, err := bson.Marshal(said)
	a.rows = []bson.Raw{raw}
	return a, err
}

// writeConflict is the error code of a write conflict, after which a transaction must be retried.
const writeConflict = 112

// everything returns a question for all documents, sorted by _id.
func everything() *question {
	return &question{kind: "find", filter: bson.D{}, sort: one("_id", int32(1))}
}

// plainReply is a query by whose rules replies to writes are compared: exactly, and in order.
var plainReply = &question{kind: "find", sort: one("_id", int32(1))}

// write sends up to n random writes to the ways of storage that take writes, and compares the replies and then the
// documents.
func (r *round) write(n int) error {
	for range n {
		if r.full() {
			return nil
		}
		w := r.drawer.write(len(r.docs))
		want, err := r.kept[0].apply(w)
		if err != nil {
			return fmt.Errorf("%s: %w", js(w.command), err)
		}
		writes := append(slices.Clone(r.writes), w)
		list := r.writing()
		answers, err := together(list, func(k *populatedWay) bson.D { return k.writeCommand(w) })
		if err != nil {
			return fmt.Errorf("%s: %w", js(w.command), err)
		}
		for i, k := range list {
			got, err := written(answers[i])
			if err != nil {
				return err
			}
			r.counted("kind "+w.kind, "way "+k.name)
			if got.code != 0 && !plainReply.same(want, got) && k.indexed && slices.Contains(refusesDocuments, got.code) {
				k.out = true // an index refuses the written values, or some of them
				continue
			}
			if k.inTransaction && got.code == writeConflict {
				k.out = true // too much was written since the transaction began for the store to detect conflicts
				continue
			}
			if !plainReply.same(want, got) {
				r.differs(r.trial(k, &trial{writes: writes, write: w, q: everything(), want: want, got: got}))
				k.out = true
			}
			k.out = k.out || got.code != 0 && k.inTransaction
		}
		r.writes = writes
		if want.code != 0 && w.many {
			return r.reread()
		}
		if err := r.compareAll(); err != nil {
			return err
		}
	}
	if err := r.reread(); err != nil {
		return err
	}
	return r.verify()
}

// compareAll compares the documents of all ways of storage in which every write was applied.
func (r *round) compareAll() error {
	q := everything()
	want, err := r.kept[0].sendPlain(q, manner{})
	if err != nil {
		return err
	}
	list := r.writing()
	answers, err := together(list, func(k *populatedWay) bson.D { return k.command(q, manner{}) })
	if err != nil {
		return err
	}
	for i, k := range list {
		c, err := opened(q, answers[i])
		if err != nil {
			return err
		}
		r.counted("kind content", "way "+k.name)
		if !q.same(want, c.answer) {
			r.differs(r.trial(k, &trial{q: q, want: want, got: c.answer}))
			k.out = true
		}
	}
	return nil
}

// writing returns the ways of storage that take part in writes, except the first.
func (r *round) writing() (out []*populatedWay) {
	for _, k := range r.kept[1:] {
		if !k.out && !k.reads {
			k.nextServer()
			k.between(false)
			out = append(out, k)
		}
	}
	return out
}

// together sends a command to several ways of storage before it reads the first reply, so that they run at the same
// time, and returns the replies.
func together(list []*populatedWay, command func(k *populatedWay) bson.D) (out []bson.Raw, err error) {
	for _, k := range list {
		if err := k.conn.queue(k.set.db, command(k)); err != nil {
			return nil, err
		}
	}
	for _, k := range list {
		if len(k.conn.out) > 0 {
			if err := k.conn.flush(); err != nil {
				return nil, err
			}
		}
		reply, err := k.conn.receive()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		out = append(out, reply)
	}
	return out, nil
}

// reread reads the present documents as those of the set, after writes, and excludes the ways of storage in which
// writes were not applied.
func (r *round) reread() error {
	a, err := r.kept[0].sendPlain(everything(), manner{})
	if err != nil {
		return err
	}
	r.docs = nil
	for _, raw := range a.rows {
		var d bson.D
		if err := bson.Unmarshal(raw, &d); err != nil {
			return err
		}
		r.docs = append(r.docs, d)
	}
	for _, k := range r.kept {
		k.out = k.out || k.reads
	}
	return nil
}

// verify checks by the command validate, for each way of storage except transactions, that its indexes agree with its
// documents.
func (r *round) verify() error {
	for _, k := range r.kept {
		if k.out || k.inTransaction {
			continue
		}
		reply, err := k.conn.must(r.db, bson.D{{Key: "validate", Value: k.coll}, {Key: "full", Value: true}})
		if err != nil {
			return err
		}
		r.counted("kind validate", "way "+k.name)
		if valid, _ := reply.Lookup("valid").BooleanOK(); !valid {
			r.report("validate "+k.name, fmt.Sprintf("CANTLE_SEED=%d: validate of %s, indexes %v: %s", r.seed, k.name, k.indexes, reply))
		}
	}
	return nil
}
