package cluster

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

func isNotFound(err error) bool { return errors.Is(err, storage.ErrNotFound) }

// Recounted makes the counts of Tally include all that was committed on every server before the call. Without
// Config.Recount it does nothing. Errors: the errors of the store, ctx.Err().
func (c *Cluster) Recounted(ctx context.Context) error {
	if c.recount == nil {
		return nil
	}
	return c.recount(ctx)
}

// Count returns the number of documents that match f, after its skip and up to its limit. See FindCount.
func (c *Cluster) Count(o *Op, ns collection.Namespace, f plan.Find) (int64, error) {
	coll := c.catalog.Peek().Collection(ns)
	if coll == nil {
		if _, err := plan.Canonical(o.Env, nil, f); err != nil {
			return 0, err
		}
		return 0, nil
	}
	if coll.IsView() {
		return 0, mongoerr.ViewNotAllowed(ns.String())
	}
	s, err := c.FindCount(o, ns, f)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	n, err := exec.CountRows(o.Env, s.Operator)
	if err != nil {
		return 0, err
	}
	c.settle(o)
	return plan.Window(n, f.Skip, f.Limit), nil
}

// FindCount opens a find whose rows are only counted; the caller applies the skip of f, and its limit. Without a filter
// and a hint the rows are those of the shards' counters, and nothing is read, unless peers may write as well, or the
// read is in a transaction or at a past time. The caller closes the stream. Errors: the errors of FindKeys.
func (c *Cluster) FindCount(o *Op, ns collection.Namespace, f plan.Find) (*Stream, error) {
	coll := c.catalog.Peek().Collection(ns)
	if coll != nil && !coll.IsView() && f.Filter.IsEmpty() && o.Txn == nil && o.At == 0 && f.Hint.IsMissing() && c.exclusive {
		return c.countAll(o, coll, f)
	}
	if f.Limit > 0 {
		f.Limit += f.Skip
	}
	f.Skip = 0
	return c.FindKeys(o, ns, f, nil)
}

// countAll opens a count of all documents of a collection, whose rows are those of the shards' counters. While writes
// commit, their number may be that of no single state.
func (c *Cluster) countAll(o *Op, coll *catalog.Collection, f plan.Find) (*Stream, error) {
	if err := c.ExpireDue(o, coll.Namespace); err != nil {
		return nil, err
	}
	c.begin(o, coll)
	shards := coll.Map.Shards()
	if err := c.admit(o, coll, shards, ratelimit.ReadKind); err != nil {
		return nil, err
	}
	node := &plan.FastCount{}
	if len(shards) == 1 {
		node.Skip, node.Limit = f.Skip, f.Limit
	}
	sol := &plan.Solution{Shards: node, Certain: true}
	if o.Planned != nil {
		o.Planned.Store(sol)
	}
	tally := c.tally.Of(coll.ID)
	counts, rest := make(map[shard.ID]int64, len(shards)), tally.Total(coll.Map).Docs
	for _, d := range shards {
		counts[d.ID] = min(tally.Shard(d.ID).Get().Docs, rest)
		rest -= counts[d.ID]
	}
	counts[shards[0].ID] += rest // during a split, only the sum is exact
	ops, err := onShards(sol, 0, exec.Source{Coll: coll, Counts: counts}, shards, func(d *shard.Descriptor, op exec.Operator) (exec.Operator, error) {
		o.Trace.add(d, op)
		return op, nil
	})
	if err != nil {
		return nil, err
	}
	return &Stream{Operator: exec.Concat(ops), Coll: coll, Solution: sol, Shards: shards, c: c, op: o, v: &view{snap: c.catalog.Peek()}, internal: true}, nil
}

// FindKeys opens a find that reads only the named fields, for count and distinct. For a single field, the plan may
// return one row for each distinct value; without fields, rows are only counted. The caller closes the stream. Errors:
// NamespaceNotFound (26), the error of mongoerr.ViewNotAllowed for a view, and the errors of Find.
func (c *Cluster) FindKeys(o *Op, ns collection.Namespace, f plan.Find, fields []string) (s *Stream, err error) {
	v, err := c.view(o, ns)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil { // an error, or a panic
			v.close()
		}
	}()
	coll := v.snap.Collection(ns)
	if coll == nil {
		return nil, mongoerr.NoNamespace(ns.String())
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	useCollation(o.Env, coll)
	f.KeysOnly, f.NeedKeys, f.AnyOrder = true, fields, len(fields) == 0
	if len(fields) == 1 {
		f.Distinct, f.Elements = fields[0], true
	}
	q, err := plan.Canonical(o.Env, coll, f)
	if err != nil {
		return nil, err
	}
	return c.openQuery(o, v, q, len(fields) == 0)
}

// Distinct returns the distinct values of a path in the documents that match a filter, as the body of a sorted array.
// Elements of arrays count as values.
// Manual: reference/command/distinct. Errors: 17217 (over 16 MB), and the errors of FindKeys.
func (c *Cluster) Distinct(o *Op, ns collection.Namespace, key string, filter bson.Raw, hint bson.Value) (bson.Raw, error) {
	out := bson.NewArrayBuilder(nil)
	set, err := exec.NewValueSet(key)
	if err != nil {
		return nil, err
	}
	f := plan.Find{Filter: filter, Hint: hint}
	if c.catalog.Peek().Collection(ns) == nil {
		if _, err := plan.Canonical(o.Env, nil, f); err != nil {
			return nil, err
		}
		return out.Doc(), nil
	}
	s, err := c.FindKeys(o, ns, f, []string{key})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer set.Release(o.Env)
	for {
		row, err := s.Next(o.Env)
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		if err := set.Each(o.Env, row.Doc, func(v bson.Value) { out.Value("", v) }); err != nil {
			return nil, err
		}
		if err := CheckDistinct(out.Len()); err != nil {
			return nil, err
		}
	}
	c.settle(o)
	return exec.SortValues(o.Env, out.Doc()), nil
}

// CheckDistinct rejects the result of a distinct command, of size bytes, if it is larger than a document may be (16
// MB).
// Errors: 17217.
func CheckDistinct(size int) error {
	if size > bson.MaxDocumentBytes {
		return mongoerr.New(17217, "distinct too big, 16mb cap")
	}
	return nil
}
