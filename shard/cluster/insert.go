package cluster

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/router"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Bounds of a group of documents that an insert commits together: a large batch must neither hold much memory
// nor starve other commands.
const (
	groupDocs  = 1024
	groupBytes = 8 << 20
)

// Insert adds documents. It returns how many were added, and the errors of the others by their index. With ordered it
// stops at the first error. A missing collection is created. docs may alias the request.
// Errors: only the errors of the whole command.
func (c *Cluster) Insert(o *Op, ns collection.Namespace, docs []bson.Raw, ordered bool) (n int, errs []mongoerr.WriteError, err error) {
	if o.MayWrite(ns.DB) != nil {
		return 0, refuseAll(docs, o.WriteBlock, ordered), nil
	}
	if err := c.CheckExpected(o); err != nil {
		return 0, refuseAll(docs, mongoerr.From(err), ordered), nil
	}
	if c.latest(o).Collection(ns) == nil {
		if errs, none := c.unfit(docs, ordered); none {
			return 0, errs, nil // no collection is created for them
		}
	}
	coll, err := c.ensure(o, ns)
	if err != nil {
		return 0, nil, err
	}
	placed, failed, err := c.prepare(o, coll, docs, ordered)
	if err != nil {
		return 0, nil, err
	}
	errs = failed
	groups := router.ByShard(coll, placed, ordered)
	for g, group := range groups {
		for len(group) > 0 {
			if err := o.Env.Interrupted(); err != nil {
				return n, errs, err
			}
			part := group[:c.groupSize(o, coll, group)]
			group = group[len(part):]
			done, werrs, err := c.insertGroup(o, coll, ns, part, ordered)
			n += done
			if err != nil {
				return n, errs, err
			}
			if len(werrs) > 0 {
				errs = append(errs, werrs...)
				if ordered {
					errs = firstOnly(errs)
					o.noteUntried(coll, errs[0].Err, append(groups[g+1:], group)...)
					return n, errs, nil
				}
			}
		}
	}
	sortErrors(errs)
	return n, errs, nil
}

// refuseAll returns an error for each document, with ordered for the first.
func refuseAll(docs []bson.Raw, e *mongoerr.Error, ordered bool) (errs []mongoerr.WriteError) {
	for i := range docs {
		errs = append(errs, mongoerr.WriteError{Index: int32(i), Err: e})
		if ordered {
			break
		}
	}
	return errs
}

// unfit checks documents in order up to the first that may be inserted, with ordered only the first one, and returns
// the errors of those that may not. none is true if no document may be inserted, so that Insert need not create the
// collection.
func (c *Cluster) unfit(docs []bson.Raw, ordered bool) (errs []mongoerr.WriteError, none bool) {
	for i, d := range docs {
		_, err := write.Prepare(d, c.store)
		if err == nil {
			return errs, false
		}
		if errs = append(errs, mongoerr.WriteError{Index: int32(i), Err: mongoerr.From(err)}); ordered {
			break
		}
	}
	return errs, len(docs) > 0
}

// WhollyRefused returns the error of an insert that was refused completely for lack of request units, so that drivers
// may send all of it again; nil for any other insert, and always in strict mode (refusedOneByOne). n of the docs
// documents were inserted.
func (o *Op) WhollyRefused(n, docs int, errs []mongoerr.WriteError, ordered bool) error {
	if refusedOneByOne(o.Env) || o.refused == nil || n > 0 || len(errs) == 0 || !ordered && len(errs) < docs {
		return nil
	}
	for _, e := range errs {
		if e.Err.Code != ratelimit.CodeThrottled {
			return nil
		}
	}
	return Refused(o.refused)
}

// firstOnly keeps the error with the smallest index.
func firstOnly(errs []mongoerr.WriteError) []mongoerr.WriteError {
	sortErrors(errs)
	return errs[:1]
}

func sortErrors(errs []mongoerr.WriteError) {
	slices.SortFunc(errs, func(a, b mongoerr.WriteError) int { return cmp.Compare(a.Index, b.Index) })
}

// groupSize returns how many documents of an insert commit together: one if the collection has a budget, so that each
// document is admitted by itself; otherwise up to groupDocs and about groupBytes, and below the command's cap, so that the
// documents before the cap stay.
func (c *Cluster) groupSize(o *Op, coll *catalog.Collection, docs []router.Placed) int {
	if c.needsAdmission(coll) {
		return 1
	}
	size, n := 0, len(docs)
	for i, d := range docs {
		if size += len(d.Doc); i+1 == groupDocs || size > groupBytes {
			n = i + 1
			break
		}
	}
	return o.withinCap(coll, n, 1, func(i int) int { return len(docs[i].Doc) })
}

// prepare checks each document, gives it an _id, and computes its position unless the collection is capped. With
// ordered it stops at the first bad document.
func (c *Cluster) prepare(o *Op, coll *catalog.Collection, docs []bson.Raw, ordered bool) (placed []router.Placed, errs []mongoerr.WriteError, err error) {
	placed = make([]router.Placed, 0, len(docs))
	for i, d := range docs {
		doc, err := write.Prepare(d, c.store)
		if err == nil {
			err = checkNew(o.Env, coll, doc)
		}
		var p router.Placed
		if err == nil {
			p = router.Placed{Doc: doc, Index: i}
			if !coll.Options.Capped {
				p.Hash, err = coll.Position(doc)
			}
		}
		if err != nil {
			errs = append(errs, mongoerr.WriteError{Index: int32(i), Err: mongoerr.From(err)})
			if ordered {
				break
			}
			continue
		}
		placed = append(placed, p)
	}
	return placed, errs, nil
}

// insertGroup commits documents together: those of one shard, or ordered documents. With ordered, the first that
// fails is the last one tried, and those before it are committed. by is the catalog entry by which the positions in
// docs were computed; if another collection has taken the name, insertGroup computes them anew.
func (c *Cluster) insertGroup(o *Op, by *catalog.Collection, ns collection.Namespace, docs []router.Placed, ordered bool) (n int, errs []mongoerr.WriteError, err error) {
	noted := len(o.Refusals)
	err = c.write(o, ns, func(a *attempt) error {
		n, errs = 0, errs[:0]
		if a.coll == nil {
			return errVanished
		}
		if a.coll.IsView() {
			return mongoerr.ViewNotAllowed(ns.String())
		}
		a.c.begin(o, a.coll)
		own := a.coll.Options.OwnOrder() || a.coll.ID != by.ID // or the collection was sharded or replaced meanwhile
		d := docs[0].Shard
		if a.coll != by {
			d = a.coll.Home(docs[0].Doc, docs[0].Hash)
		}
		o.reach.doc = docs[0].Doc // with a budget, the only one
		if err := a.admit([]*shard.Descriptor{d}); err != nil {
			return err
		}
		if err := a.begin(); err != nil {
			return err
		}
		if !own && a.coll == by {
			if err := a.target(d).Prefetch(o.Env, router.Positions(docs)); err != nil {
				return err
			}
		}
		var done successes
		asked := []*shard.Descriptor{d}
		for _, p := range docs {
			h, d := p.Hash, p.Shard
			if own {
				var err error
				if h, err = a.position(p.Doc); err != nil {
					return err
				}
			}
			if own || a.coll != by {
				d = a.coll.Home(p.Doc, h)
			}
			failed, err := a.insertPlaced(&asked, p, h, d)
			if err != nil {
				return err
			}
			if failed != nil {
				errs = append(errs, mongoerr.WriteError{Index: int32(p.Index), Err: failed})
				if ordered {
					break
				}
				continue
			}
			if err := done.add(a, p.Index); err != nil {
				return err
			}
			n++
		}
		if err := a.trim(); err != nil {
			return err
		}
		return done.record(a)
	})
	c.settle(o)
	if t := (*ratelimit.Throttled)(nil); errors.As(err, &t) {
		o.refused = t
		o.NoteStatement(noted, docs[0].Index, 0)
		return n, append(errs, refusedGroup(docs, ordered, func(i int) mongoerr.WriteError { return c.refusedWrite(i, t) })...), nil
	}
	if mongoerr.CodeOf(err) == mongoerr.CollectionUUIDMismatch { // another collection has got the name: nothing is committed
		return 0, refusedGroup(docs, ordered, func(i int) mongoerr.WriteError {
			return mongoerr.WriteError{Index: int32(i), Err: mongoerr.From(err)}
		}), nil
	}
	return n, errs, err
}

// refusedGroup returns the errors of a group that is refused whole: with ordered only the first document's.
func refusedGroup(docs []router.Placed, ordered bool, refuse func(index int) mongoerr.WriteError) (errs []mongoerr.WriteError) {
	if ordered {
		docs = docs[:1]
	}
	for _, p := range docs {
		errs = append(errs, refuse(p.Index))
	}
	return errs
}

// insertPlaced adds one document of a group. If it adds nothing, either failed holds the error for the
// client, or err that of the whole group.
func (a *attempt) insertPlaced(asked *[]*shard.Descriptor, p router.Placed, h keyspace.Hash, d *shard.Descriptor) (failed *mongoerr.Error, err error) {
	if failed, err = a.refusedAt(asked, d); failed != nil || err != nil {
		return failed, err
	}
	save := a.txn.Savepoint()
	t := a.target(d)
	docs, bytes, grown := t.Docs, t.Bytes, len(a.grown)
	t.StmtID = a.op.Statement(p.Index)
	if err := a.insert(p.Doc, h, d); err != nil {
		if !errors.As(err, &failed) {
			return nil, err
		}
		a.txn.RollbackTo(save)
		t.Docs, t.Bytes, a.grown = docs, bytes, a.grown[:grown]
	}
	return failed, nil
}

// refusedAt checks, once for each further shard of a group, whether a test has injected a refusal of writes there.
// Real budgets need no check: where they limit a collection, a group is one document, which was admitted.
func (a *attempt) refusedAt(asked *[]*shard.Descriptor, d *shard.Descriptor) (*mongoerr.Error, error) {
	if slices.Contains(*asked, d) {
		return nil, nil
	}
	*asked = append(*asked, d)
	_, err := a.c.classify(a.op, a.coll, []*shard.Descriptor{d}, ratelimit.WriteKind)
	if t := (*ratelimit.Throttled)(nil); errors.As(err, &t) {
		a.op.refused = t
		return a.c.refusedWrite(0, t).Err, nil
	}
	return nil, err
}

// successes holds a run of inserted documents with consecutive indexes, which one retryable write record covers.
type successes struct {
	first, last int
	some        bool
}

// add extends the run by the document with index i; after a gap it first stores the record of the run so far, and
// begins another.
func (s *successes) add(a *attempt, i int) error {
	if s.some && i == s.last+1 {
		s.last = i
		return nil
	}
	err := s.record(a)
	*s = successes{i, i, true}
	return err
}

// record stores the retryable write record of the run, inside the attempt's transaction.
func (s *successes) record(a *attempt) error {
	if !s.some || a.op.Record == nil {
		return nil
	}
	return a.op.Record(a.txn, s.first, s.last, nil)
}

// refusedWrite returns the error of a throttled statement of a bulk write.
func (c *Cluster) refusedWrite(i int, t *ratelimit.Throttled) mongoerr.WriteError {
	return mongoerr.WriteError{Index: int32(i), Err: mongoerr.New(ratelimit.CodeThrottled, "%s", t.WriteMessage()).Because(t)}
}

// ensure returns the collection, creating it if it is missing. It retries if the collection
// is dropped meanwhile.
func (c *Cluster) ensure(o *Op, ns collection.Namespace) (*catalog.Collection, error) {
	for range retriesMax {
		coll := c.latest(o).Collection(ns)
		switch {
		case coll == nil: // or a concurrent command has dropped what this one created
		case coll.IsView():
			return nil, mongoerr.ViewNotAllowed(ns.String())
		default:
			return coll, nil
		}
		if err := c.definer.CreateMissing(o, ns); err != nil {
			return nil, err
		}
	}
	return nil, mongoerr.NoNamespace(ns.String())
}
