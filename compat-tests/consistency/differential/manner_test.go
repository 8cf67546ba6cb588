package differential

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// manner is the form in which a question is sent.
type manner struct {
	batch   int32       // rows in a batch, 0 is all of them
	hint    any         // an index, or $natural
	warm    []*question // sent before, so that their plans are cached
	rewrite *rewrite
	aside   bson.D // an additional filter for some rewritten forms
	parked  bool   // other cursors are read between two batches, so that the server parks this one
}

// cursor is an incomplete answer.
type cursor struct {
	answer
	id   int64
	coll string
}

// allRows is a batch size that exceeds every answer.
const allRows = 1 << 20

// rowsMost is the most rows that a cursor may return; a cursor that never ends is an error of the server.
const rowsMost = 20_000

// command returns the command of a question.
func (k *populatedWay) command(q *question, m manner) bson.D {
	if k.hasCollation {
		other := *q
		other.collation = nil
		q = &other
	}
	if q.bounds != nil && !k.bounded() {
		q = q.filtered()
	}
	c := bind(q.command(), k.coll, k.foreign).(bson.D)
	if m.hint != nil && q.kind != "distinct" {
		c = append(c, bson.E{Key: "hint", Value: m.hint})
	}
	batch := m.batch
	if batch == 0 {
		batch = allRows
	}
	switch q.kind {
	case "find":
		c = append(c, bson.E{Key: "batchSize", Value: batch})
	case "aggregate":
		for i := range c {
			if c[i].Key == "cursor" {
				c[i].Value = one("batchSize", batch)
			}
		}
	}
	return append(append(c, k.session...), k.concern...)
}

// open sends a query in a manner and returns its cursor with the first batch. Errors: errors of the connection.
func (k *populatedWay) open(q *question, m manner) (*cursor, error) {
	reply, err := k.conn.reply(k.set.db, k.command(q, m))
	if err != nil {
		return nil, err
	}
	return opened(q, reply)
}

// opened returns the answer after the first reply.
func opened(q *question, reply bson.Raw) (*cursor, error) {
	c := &cursor{}
	if c.code, c.message = failed(reply); c.code != 0 {
		return c, nil
	}
	switch q.kind {
	case "count":
		n, _ := reply.Lookup("n").AsInt64OK()
		raw, err := bson.Marshal(one("n", n))
		c.rows = []bson.Raw{raw}
		return c, err
	case "distinct":
		values, err := reply.Lookup("values").Array().Values()
		for _, v := range values {
			raw, err := bson.Marshal(one("value", v))
			if err != nil {
				return nil, err
			}
			c.rows = append(c.rows, raw)
		}
		return c, err
	}
	return c, c.take(reply, "firstBatch")
}

// take adds the rows of a batch.
func (c *cursor) take(reply bson.Raw, batch string) error {
	if c.code, c.message = failed(reply); c.code != 0 {
		c.id, c.rows = 0, nil
		return nil
	}
	c.id, _ = reply.Lookup("cursor", "id").AsInt64OK()
	ns, _ := reply.Lookup("cursor", "ns").StringValueOK()
	_, c.coll, _ = strings.Cut(ns, ".")
	list, ok := reply.Lookup("cursor", batch).ArrayOK()
	if !ok {
		return errors.New("a reply without a batch")
	}
	values, err := list.Values()
	for _, v := range values {
		c.rows = append(c.rows, v.Document())
	}
	return err
}

// more takes another batch.
func (k *populatedWay) more(c *cursor, m manner) error {
	k.between(true)
	command := bson.D{{Key: "getMore", Value: c.id}, {Key: "collection", Value: c.coll}}
	if m.batch > 0 {
		command = append(command, bson.E{Key: "batchSize", Value: m.batch})
	}
	reply, err := k.conn.reply(k.set.db, append(command, k.session...))
	if err != nil {
		return err
	}
	if err := c.take(reply, "nextBatch"); err != nil {
		return err
	}
	if len(c.rows) > rowsMost {
		c.code, c.message, c.id = -2, "the cursor does not end", 0
	}
	return nil
}

// parkedBeside is the number of other cursors that the test opens between two batches of a cursor, so that the server
// parks that cursor.
const parkedBeside = 300

// sendPlain sends a query in its own form, without earlier queries that would put a plan into the cache, and returns
// the answer.
func (k *populatedWay) sendPlain(q *question, m manner) (answer, error) {
	c, err := k.open(q, m)
	if err != nil {
		return answer{}, err
	}
	return k.rest(c, m)
}

// rest takes all remaining batches of an answer.
func (k *populatedWay) rest(c *cursor, m manner) (answer, error) {
	var beside []*cursor
	for c.id != 0 {
		if m.parked && beside == nil {
			for range parkedBeside {
				b, err := k.open(&question{kind: "find", filter: bson.D{}}, manner{batch: 1})
				if err != nil {
					return answer{}, err
				}
				beside = append(beside, b)
			}
		}
		if err := k.more(c, m); err != nil {
			return answer{}, err
		}
	}
	ids := bson.A{}
	for _, b := range beside {
		ids = append(ids, b.id)
	}
	if len(ids) > 0 {
		if _, err := k.conn.run(k.set.db, append(bson.D{{Key: "killCursors", Value: k.coll}, {Key: "cursors", Value: ids}}, k.session...)); err != nil {
			return answer{}, err
		}
	}
	return c.answer, nil
}

// Sends a question in a manner, after its warm questions.
func (k *populatedWay) send(q *question, m manner) (answer, error) {
	for _, w := range m.warm {
		if a, err := k.sendPlain(w, manner{}); err != nil || a.code != 0 && k.inTransaction {
			return answer{code: -5, message: "a question before failed"}, err
		}
	}
	k.asked = append(k.asked, q)
	if m.rewrite == nil {
		return k.sendPlain(q, m)
	}
	var problem error
	a := m.rewrite.ask(q, m.aside, func(q *question) answer {
		a, err := k.sendPlain(q, m)
		problem = errors.Join(problem, err)
		return a
	})
	return a, problem
}

// asking is a question to one way, for sendTogether.
type asking struct {
	k *populatedWay
	m manner
	answer
}

// sendTogether sends a query to several ways of storage. Where the query is sent in its own form, all commands are
// sent before the first reply is read, so that they run at the same time.
func sendTogether(q *question, list []*asking) error {
	var sent []*asking
	for _, a := range list {
		if a.m.warm != nil || a.m.rewrite != nil {
			continue
		}
		a.k.asked = append(a.k.asked, q)
		if err := a.k.conn.queue(a.k.set.db, a.k.command(q, a.m)); err != nil {
			return err
		}
		sent = append(sent, a)
	}
	var first []*cursor
	for _, a := range sent {
		if len(a.k.conn.out) > 0 {
			if err := a.k.conn.flush(); err != nil {
				return err
			}
		}
		reply, err := a.k.conn.receive()
		if err != nil {
			return fmt.Errorf("%s: %w", a.k.name, err)
		}
		c, err := opened(q, reply)
		if err != nil {
			return fmt.Errorf("%s: %w", a.k.name, err)
		}
		first = append(first, c)
	}
	for i, a := range sent {
		var err error
		if a.answer, err = a.k.rest(first[i], a.m); err != nil {
			return fmt.Errorf("%s: %w", a.k.name, err)
		}
	}
	for _, a := range list {
		if a.m.warm != nil || a.m.rewrite != nil {
			var err error
			if a.answer, err = a.k.send(q, a.m); err != nil {
				return fmt.Errorf("%s: %w", a.k.name, err)
			}
		}
	}
	return nil
}

// rewrite is another form of a question with a filter.
type rewrite struct {
	name string
	// fits reports whether a query can be rewritten in this form; nil means every query.
	fits func(q *question) bool
	// of reports whether the form is equivalent for these documents; nil means for all documents.
	of func(q *question, docs []bson.D) bool
	// in reports whether the form is equivalent in a way of storage; nil means in all ways.
	in  func(k *populatedWay) bool
	ask func(q *question, g bson.D, ask func(*question) answer) answer
}

// filtered returns a rewrite that changes the filter only.
func filtered(name string, change func(f, g bson.D) bson.D) *rewrite {
	return &rewrite{name: name, ask: func(q *question, g bson.D, ask func(*question) answer) answer {
		other := *q
		other.filter = change(q.filter, g)
		return ask(&other)
	}}
}

// piped returns a rewrite that sends a pipeline.
func piped(name string, fits func(q *question) bool, change func(q *question, g bson.D) bson.A) *rewrite {
	return &rewrite{name: name, fits: fits, ask: func(q *question, g bson.D, ask func(*question) answer) answer {
		p := change(q, g)
		if q.sort != nil {
			p = append(p, one("$sort", q.sort))
		}
		if q.skip > 0 {
			p = append(p, one("$skip", q.skip))
		}
		if q.limit > 0 {
			p = append(p, one("$limit", q.limit))
		}
		if q.projection != nil {
			p = append(p, one("$project", q.projection))
		}
		return ask(&question{kind: "aggregate", pipeline: p, collation: q.collation})
	}}
}

func all(of ...any) bson.D      { return one("$and", bson.A(of)) }
func not(f bson.D) bson.D       { return one("$nor", bson.A{f}) }
func either(f, g bson.D) bson.D { return one("$or", bson.A{f, g}) }

// isFind reports whether a query is a find without the features that only find has: projections with operators, min
// and max.
func isFind(q *question) bool {
	return q.kind == "find" && !hasOperator(q.projection) && q.bounds == nil
}

// rewrites are the equivalent forms of questions.
var rewrites = slices.Concat(backwards, []*rewrite{
	filtered("$and of it", func(f, _ bson.D) bson.D { return all(f, bson.D{}) }),
	filtered("$and of its fields", func(f, _ bson.D) bson.D {
		out := bson.A{}
		for _, e := range f {
			out = append(out, bson.D{e})
		}
		if len(out) == 0 {
			return f
		}
		return one("$and", out)
	}),
	filtered("fields in another order", func(f, _ bson.D) bson.D {
		f = slices.Clone(f)
		slices.Reverse(f)
		return f
	}),
	filtered("not not", func(f, _ bson.D) bson.D { return not(not(f)) }),
	filtered("$or with a part of it", func(f, g bson.D) bson.D { return either(f, all(f, g)) }),
	filtered("$or of two halves", func(f, g bson.D) bson.D { return either(all(f, g), all(f, not(g))) }),
	filtered("$and with what is always so", func(f, g bson.D) bson.D { return all(either(g, not(g)), f) }),
	filtered("De Morgan", func(f, _ bson.D) bson.D {
		out := bson.A{}
		for _, e := range f {
			out = append(out, not(bson.D{e}))
		}
		if len(out) == 0 {
			return f
		}
		return one("$nor", out)
	}),
	filtered("$in for equality", func(f, _ bson.D) bson.D {
		out := bson.D{}
		for _, e := range f {
			if c := conditions(e.Value); e.Key != "" && e.Key[0] != '$' && c[0].Key == "$eq" {
				e.Value = one("$in", bson.A{c[0].Value})
			}
			out = append(out, e)
		}
		return out
	}),
	piped("$match", isFind, func(q *question, _ bson.D) bson.A { return bson.A{one("$match", q.filter)} }),
	piped("$match twice", isFind, func(q *question, g bson.D) bson.A {
		return bson.A{one("$match", either(q.filter, g)), one("$skip", int64(0)), one("$match", q.filter)}
	}),
	piped("stages that do nothing", isFind, func(q *question, g bson.D) bson.A {
		return bson.A{one("$set", one("zz", "$a")), one("$match", q.filter), one("$unset", "zz"), one("$limit", int64(100_000))}
	}),
	piped("$facet", isFind, func(q *question, _ bson.D) bson.A {
		return bson.A{one("$facet", one("x", bson.A{one("$match", q.filter)})), one("$unwind", "$x"), one("$replaceWith", "$x")}
	}),
	piped("$unionWith", isFind, func(q *question, g bson.D) bson.A {
		return bson.A{one("$match", all(q.filter, g)), one("$unionWith", bson.D{{Key: "coll", Value: self{}}, {Key: "pipeline", Value: bson.A{one("$match", all(q.filter, not(g)))}}})}
	}),
	piped("$lookup of itself", isFind, func(q *question, _ bson.D) bson.A {
		return bson.A{one("$match", q.filter), one("$project", one("_id", int32(1))),
			one("$lookup", bson.D{{Key: "from", Value: self{}}, {Key: "localField", Value: "_id"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "r"}}), one("$unwind", "$r"), one("$replaceWith", "$r")}
	}),
	piped("$lookup with the filter", isFind, func(q *question, _ bson.D) bson.A {
		return bson.A{one("$lookup", bson.D{{Key: "from", Value: self{}}, {Key: "localField", Value: "_id"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "r"}, {Key: "pipeline", Value: bson.A{one("$match", q.filter)}}}), one("$unwind", "$r"), one("$replaceWith", "$r")}
	}),
	{name: "$out and read", fits: isFind, ask: func(q *question, _ bson.D, ask func(*question) answer) answer {
		if a := ask(&question{kind: "aggregate", pipeline: bson.A{one("$match", q.filter), one("$out", copied{})}, collation: q.collation}); a.code != 0 {
			return a
		}
		read := *q
		read.filter, read.of = bson.D{}, copied{}
		return ask(&read)
	}},
	{name: "pages", fits: isFind, ask: func(q *question, _ bson.D, ask func(*question) answer) answer {
		var out answer
		left := int64(allRows)
		if q.limit > 0 {
			left = q.limit
		}
		for page := *q; ; page.skip += page.limit {
			page.limit = min(3+page.skip-q.skip, left)
			if page.sort == nil {
				page.sort = one("_id", int32(1))
			}
			a := ask(&page)
			if a.code != 0 {
				return a
			}
			out.rows = append(out.rows, a.rows...)
			if left -= int64(len(a.rows)); left == 0 || int64(len(a.rows)) < page.limit {
				return out
			}
		}
	}},
	{name: "n + not n", fits: func(q *question) bool { return q.kind == "count" && q.skip+q.limit == 0 && q.filter != nil }, ask: func(q *question, _ bson.D, ask func(*question) answer) answer {
		count := func(f bson.D) (int64, answer) {
			a := ask(&question{kind: "count", filter: f, collation: q.collation})
			if a.code != 0 {
				return 0, a
			}
			n, _ := a.rows[0].Lookup("n").AsInt64OK()
			return n, a
		}
		every, _ := count(bson.D{})
		others, a := count(not(q.filter))
		if a.code != 0 {
			return a
		}
		raw, err := bson.Marshal(one("n", every-others))
		if err != nil {
			return answer{code: -3, message: err.Error()}
		}
		return answer{rows: []bson.Raw{raw}}
	}},
	{name: "rows counted", fits: func(q *question) bool { return q.kind == "count" }, ask: func(q *question, _ bson.D, ask func(*question) answer) answer {
		a := ask(&question{kind: "find", filter: q.filter, collation: q.collation, skip: q.skip, limit: q.limit})
		if a.code != 0 {
			return a
		}
		raw, err := bson.Marshal(one("n", int64(len(a.rows))))
		if err != nil {
			return answer{code: -3, message: err.Error()}
		}
		return answer{rows: []bson.Raw{raw}}
	}},
})

// mayRewrite reports whether the rewritten form of a query has the same answer as the query, for the documents of a
// set.
func mayRewrite(q *question, w *rewrite, docs []bson.D) bool {
	return q.filter != nil && !q.needs && q.kind != "aggregate" && !isPositional(q.projection) &&
		(w.fits == nil || w.fits(q)) && (w.of == nil || w.of(q, docs))
}
