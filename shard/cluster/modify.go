package cluster

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/router"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Modify is one update or delete statement, or the find and the change of a
// findAndModify.
type Modify struct {
	Find   plan.Find
	Update *update.Program // nil deletes
	Multi  bool
	Upsert bool
	// Supplied is the document that an upsert inserts instead of one that filter and update describe; nil for none.
	Supplied bson.Raw
	// Return selects the document before (OldImage) or after (NewImage) the change, for
	// findAndModify.
	Return Image
}

// Image selects a version of a changed document.
type Image uint8

// The images.
const (
	NoImage Image = iota
	OldImage
	NewImage
)

// Modified holds the result of a Modify.
type Modified struct {
	Matched  int64
	Changed  int64      // documents that an update really changed, or deleted documents
	Upserted bson.Value // _id of the upserted document, missing without one
	Doc      bson.Raw   // the selected image, also of an upserted document; nil if there is none
	Found    *exec.Row  // the matched row without its document, if Modify.Find requests metadata
}

// Modify runs one update or delete statement. The collection is created if
// an upsert needs it.
func (c *Cluster) Modify(o *Op, ns collection.Namespace, m *Modify) (Modified, error) {
	if err := c.CheckExpected(o); err != nil {
		return Modified{}, err
	}
	o.Env.Where = false // of the statement before
	if err := c.checkModify(o, ns, m); err != nil {
		return Modified{}, err
	}
	if m.Upsert {
		if err := checkUpsert(o, m); err != nil {
			return Modified{}, err
		}
		if _, err := c.ensure(o, ns); err != nil {
			return Modified{}, err
		}
	}
	if m.Multi && !c.byKey(o, ns, m) {
		return c.modifyMany(o, ns, m)
	}
	return c.modifyOne(o, ns, m)
}

// checkUpsert rejects the filter of an upsert that has $expr. Only a filter that contains the name is parsed for this.
// Errors: QueryFeatureNotAllowed (224), the errors of match.Parse.
func checkUpsert(o *Op, m *Modify) error {
	if !bytes.Contains(m.Find.Filter, []byte("$expr\x00")) {
		return nil
	}
	n, err := match.Parse(o.Env, m.Find.Filter)
	if err == nil && match.Features(n)&match.UsesExpr != 0 {
		err = mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$expr is not allowed in the query predicate for an upsert")
	}
	return err
}

// byKey reports whether a filter selects one document by its key. A statement for many
// documents is then run as one for a single document.
func (c *Cluster) byKey(o *Op, ns collection.Namespace, m *Modify) bool {
	coll := c.catalog.Peek().Collection(ns)
	if coll == nil || coll.IsView() {
		return false
	}
	useCollation(o.Env, coll)
	_, ok := plan.Express(o.Env, coll, &m.Find)
	return ok
}

// modifyOne finds the first match and changes it, or inserts the document of an upsert, in one transaction.
func (c *Cluster) modifyOne(o *Op, ns collection.Namespace, m *Modify) (r Modified, err error) {
	defer c.settle(o)
	err = c.write(o, ns, func(a *attempt) error {
		r = Modified{}
		if a.coll == nil {
			if m.Upsert {
				return errVanished
			}
			return nil
		}
		if a.coll.IsView() {
			return mongoerr.ViewNotAllowed(ns.String())
		}
		useCollation(o.Env, a.coll)
		w, err := a.locate(m)
		if err != nil {
			return err
		}
		a.c.begin(o, a.coll)
		o.reach = w.reach
		if err := a.admit(w.shards); err != nil {
			return err
		}
		p, byKey := point(w.sol)
		if byKey {
			a.key[0] = keyspace.AppendRecord(a.key[0][:0], a.coll.ID, p.Hash, p.ID)
			err = a.begin(a.key[:]...)
		} else {
			err = a.begin()
		}
		if err != nil {
			return err
		}
		var row *exec.Row
		if w.express {
			row, err = a.readByID(p, w.shards[0])
		} else {
			row, err = a.readFirst(w.sol, w.shards)
		}
		if err != nil {
			return err
		}
		switch {
		case row != nil:
			r.Matched = 1
			if m.Find.Metas != 0 {
				r.Found = &exec.Row{Hash: row.Hash, ID: slices.Clone(row.ID), Meta: row.Meta.Clone()}
			}
			err = m.executing(a.change(w.filter, m, row, &r))
		case m.Upsert:
			err = m.executing(a.upsert(m, &r))
		}
		if byKey {
			o.meter.WaiveLocate()
		}
		if err == nil && o.Record != nil {
			err = o.Record(a.txn, 0, 0, &r)
		}
		return err
	})
	return r, err
}

// executing returns an error of the execution of a findAndModify with MongoDB's context in front of the text, which
// programs match. Errors that make the attempt repeat, and those of budgets, stay as they are.
func (m *Modify) executing(err error) error {
	e, ok := err.(*mongoerr.Error)
	if m.Return == NoImage || !ok || e.Code.Transient() || e.Code == mongoerr.TooManyRequests {
		return err
	}
	return e.Prefix("Plan executor error during findAndModify :: caused by :: ")
}

// located is the plan by which a single-document statement finds its document.
type located struct {
	sol    *plan.Solution
	shards []*shard.Descriptor
	filter match.Node // nil when nothing needs it
	reach  reach
	// express is true if the filter is no more than the _id.
	express bool
}

// locate plans a single-document statement.
func (a *attempt) locate(m *Modify) (located, error) {
	c, o := a.c, a.op
	needsFilter := m.Upsert || m.Update != nil && m.Update.NeedsPosition()
	if n, ok := plan.Express(o.Env, a.coll, &m.Find); ok && !needsFilter {
		c.Uses.Count(a.coll, n)
		return located{sol: &plan.Solution{Shards: n, Point: true}, shards: []*shard.Descriptor{a.coll.Map.Find(n.Hash, n.ID)}, reach: reach{id: n.ID}, express: true}, nil
	}
	f := m.Find
	f.Limit = 1
	q, err := plan.Canonical(o.Env, a.coll, f)
	if err != nil {
		return located{}, err
	}
	if err := checkTargeted(o.Env, q, cosmos.UntargetedWrites); err != nil {
		return located{}, err
	}
	sol, err := c.choose(o, nil, q)
	if err != nil {
		return located{}, err
	}
	return located{sol: sol, shards: router.Targets(a.coll, q.Match, o.Env.Collation == nil), filter: q.Match, reach: reach{filter: q.Match}}, nil
}

// point returns the node of a solution that reads one record by its key, if the solution has no other nodes than that,
// a limit and a projection.
func point(sol *plan.Solution) (*plan.PointRead, bool) {
	n := sol.Shards
	for {
		switch x := n.(type) {
		case *plan.PointRead:
			return x, true
		case *plan.Limit:
			n = x.Input
		case *plan.Project:
			n = x.Input
		default:
			return nil, false
		}
	}
}

// readFirst returns a copy of the first row of a solution, which a single-document statement then changes; nil if
// there is none. It reads through the attempt's transaction and closes its iterators before the row is written. The
// copy is valid until the attempt ends.
func (a *attempt) readFirst(sol *plan.Solution, shards []*shard.Descriptor) (*exec.Row, error) {
	src := exec.Source{Coll: a.coll, Reader: a.txn}
	if !a.multi { // such a transaction may be at a past time
		src.Frontier = a.c.frontier(a.coll)
	}
	ops, err := onShards(sol, 1, src, shards, nil)
	if err != nil {
		return nil, err
	}
	if t := a.op.Trace; t != nil && t.RealRead && len(t.Parts) == 0 { // the profiler shows the first statement
		for i, d := range shards {
			t.add(d, ops[i])
		}
	}
	in := gather(ops, sol.Pattern)
	defer in.Close()
	row, err := in.Next(a.op.Env)
	if row == nil || err != nil {
		return nil, err
	}
	old := &a.old
	*old = exec.Row{Doc: append(old.Doc[:0], row.Doc...), Hash: row.Hash, ID: append(old.ID[:0], row.ID...),
		Meta: append(old.Meta[:0], row.Meta...), Shard: row.Shard}
	return old, nil
}

// readByID is readFirst for a filter that is no more than the _id: it reads the record, whose key is in a.key,
// directly into the attempt's memory, without operators.
func (a *attempt) readByID(p *plan.PointRead, d *shard.Descriptor) (*exec.Row, error) {
	env, old := a.op.Env, &a.old
	doc, err := a.txn.Get(env.Context(), a.key[0], old.Doc[:0])
	if isNotFound(err) {
		env.Meter.PointRead(int(d.ID), 0)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := env.Meter.CheckCapForSized(ratelimit.PointRead, len(doc)); err != nil {
		return nil, err
	}
	env.Meter.PointRead(int(d.ID), len(doc))
	*old = exec.Row{Doc: doc, Hash: p.Hash, ID: append(old.ID[:0], p.ID...), Shard: int(d.ID)}
	return old, nil
}

// change applies the update or delete to one matched row.
func (a *attempt) change(filter match.Node, m *Modify, row *exec.Row, r *Modified) error {
	o := a.op
	t := a.target(a.coll.Map.Find(row.Hash, row.ID))
	if m.Update == nil {
		if m.Return != NoImage {
			r.Doc = row.Doc.Clone()
		}
		r.Changed++
		o.touchDoc(a.coll, t.Shard, row.Doc, 0)
		if err := a.grow(row.Doc, -int64(len(row.Doc))); err != nil {
			return err
		}
		return t.Delete(o.Env, row.Doc, row.Hash)
	}
	a.fresh.Reset(a.fresh.Since(0)[:0])
	a.scratch.Reset()
	doc, in, res, err := applyUpdate(o, a.fresh, m.Update, filter, row.Doc, &a.scratch)
	if err != nil {
		return err
	}
	if !res.Modified {
		doc = row.Doc
	}
	switch m.Return {
	case OldImage:
		r.Doc = row.Doc.Clone()
	case NewImage:
		r.Doc = doc.Clone()
	}
	if !res.Modified {
		return nil
	}
	r.Changed++
	o.touchDoc(a.coll, t.Shard, row.Doc, len(doc))
	h := row.Hash
	if !a.coll.Options.OwnOrder() {
		if h, err = a.coll.Position(doc); err != nil {
			return err
		}
	}
	if field, changed := a.coll.Key.Changed(row.Doc, doc); changed || h != row.Hash {
		return a.move(row, doc, h, field)
	}
	if err := a.grow(doc, int64(len(doc)-len(row.Doc))); err != nil {
		return err
	}
	op, delta := changelog.Update, bson.Raw(nil)
	if d, whole := m.Update.Delta(row.Doc, doc, in); whole {
		op = changelog.Replace
	} else {
		a.delta.Reset(a.delta.Since(0)[:0])
		d.Append(a.delta)
		delta = a.delta.Doc()
	}
	return t.Update(o.Env, row.Doc, doc, h, op, delta)
}

// applyUpdate computes in b the new version of the document old by the update p. in is the further input of the
// update: the array position that the filter matched, for the positional operator $. s is memory for expressions.
func applyUpdate(o *Op, b *bson.Builder, p *update.Program, filter match.Node, old bson.Raw, s *expr.Scratch) (doc bson.Raw, in update.Input, res update.Result, err error) {
	s.Reset()
	if p.NeedsPosition() && filter != nil {
		i, ok, err := match.MatchPosition(o.Env, old, filter, s)
		if err != nil {
			return nil, in, res, err
		}
		if ok {
			in.Position, in.HasPosition = i, true
		}
		s.Reset()
	}
	if res, err = p.Apply(o.Env, b, old, in, s); err != nil {
		return nil, in, res, err
	}
	doc = b.Doc()
	if res.Modified && len(doc) > bson.MaxDocumentBytes {
		return nil, in, res, mongoerr.New(17419, "Resulting document after update is larger than %d", bson.MaxDocumentBytes)
	}
	if res.Modified {
		err = checkDocument(o.Env, doc)
	}
	return doc, in, res, err
}

// move changes a document whose shard key changes: it deletes the document
// at the old position and inserts it at the new one, in the same commit.
// Manual: core/sharding-change-shard-key-value.
func (a *attempt) move(row *exec.Row, doc bson.Raw, h keyspace.Hash, field string) error {
	o := a.op
	if err := checkMove(o.Env, field); err != nil {
		return err
	}
	if err := a.grow(row.Doc, -int64(len(row.Doc))); err != nil {
		return err
	}
	if err := a.target(a.coll.Map.Find(row.Hash, row.ID)).Delete(o.Env, row.Doc, row.Hash); err != nil {
		return err
	}
	if err := a.grow(doc, int64(len(doc))); err != nil {
		return err
	}
	return a.target(a.coll.Home(doc, h)).Insert(o.Env, doc, h)
}

// upserted returns the document that an upsert inserts: the supplied one, or the one that filter and update describe. It
// parses the filter as the client wrote it, because the planner's form has lost equal clauses that occur twice.
func (a *attempt) upserted(m *Modify) (bson.Raw, error) {
	if m.Supplied != nil {
		return m.Supplied, nil
	}
	filter, err := match.Parse(a.op.Env, m.Find.Filter)
	if err != nil {
		return nil, err
	}
	var s expr.Scratch
	defer s.Close()
	return m.Update.Upsert(a.op.Env, filter, &s, func() bson.Value {
		id := bson.NewObjectID()
		return bson.Value{Type: bson.TypeObjectID, Data: id[:]}
	})
}

// upsert inserts the document of an upsert.
func (a *attempt) upsert(m *Modify, r *Modified) error {
	c, o := a.c, a.op
	doc, err := a.upserted(m)
	if err != nil {
		return err
	}
	if doc, err = write.Prepare(doc, c.store); err != nil {
		return err
	}
	if err := checkNew(o.Env, a.coll, doc); err != nil {
		return err
	}
	h, err := a.position(doc)
	if err != nil {
		return err
	}
	if err := a.insert(doc, h, a.coll.Home(doc, h)); err != nil {
		return err
	}
	if err := a.trim(); err != nil {
		return err
	}
	r.Upserted = doc.Get("_id").Clone()
	if m.Return == NewImage {
		r.Doc = doc
	}
	return nil
}
