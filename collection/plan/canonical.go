package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/project"
)

// Find is what a find asks for, or the leading part of a pipeline, an update, a
// delete, a count or a distinct. Zero fields ask for nothing.
type Find struct {
	Filter, Sort, Projection bson.Raw
	Hint                     bson.Value // index name or key pattern, or {$natural: ±1}
	Min, Max                 bson.Raw   // index bounds by hand; need Hint
	Skip, Limit              int64
	ReturnKey, ShowRecordID  bool
	// KeysOnly says that the caller reads the fields NeedKeys only, not whole documents
	// (count, distinct); an empty NeedKeys then means that it counts rows.
	KeysOnly bool
	NeedKeys []string
	// Distinct is the path of which the caller needs one row per value and reads
	// nothing else; "" asks for every row.
	Distinct string
	// Metas are the kinds of metadata, expr.MetaTextScore and so on, as bits, that the caller
	// reads of the rows, beside what sort and projection read.
	Metas uint32
}

// Query is a canonical query: everything parsed and normalised. Immutable: what asks for
// something else is a copy (Reading, InNaturalOrder, Allow, Cache.Restrict).
type Query struct {
	Find
	Coll      *catalog.Collection
	Match     match.Node
	Pattern   *order.Pattern    // nil without a sort
	Transform project.Transform // nil without a projection
	// Natural is the direction of $natural in sort or hint, 0 without it.
	Natural     int
	naturalHint bool // $natural came as a hint
	// collation is the effective one: the command's, else the collection's.
	collation *mql.Collation
	// Only restricts the plan to some indexes, by name or key pattern, as an
	// index filter does; nil does not.
	Only []bson.Value
	// free is the query without the settings that Allow has put on it; nil without
	// settings. scans says that they allow reading the collection itself.
	free  *Query
	scans bool

	text *match.Text // in the filter, anywhere
	// noText says that text indexes are not to be used.
	noText bool
	near   *match.Near // in the filter
	metas  uint32      // kinds of metadata, expr.MetaSortKey and so on, that the caller, sort and projection read, as bits

	asking *asking // of the command that plans; set while it does
}

// Canonical parses a find against a collection.
// Errors: those of parsing filter, sort and projection; BadValue (2) for a bad
// combination.
func Canonical(env *mql.Env, c *catalog.Collection, f Find) (*Query, error) {
	n, err := match.Parse(env, f.Filter)
	if err != nil {
		return nil, err
	}
	n = BindText(c, n)
	q, err := ofFilter(env, c, n)
	if err != nil {
		return nil, err
	}
	q.Find = f
	if err := q.parseSort(env); err != nil {
		return nil, err
	}
	if !f.Projection.IsEmpty() {
		t, err := project.ParseFind(env, f.Projection, n)
		if err != nil {
			return nil, err
		}
		q.Transform = t
	}
	if err := q.takeHint(); err != nil {
		return nil, err
	}
	if err := match.CheckNearAndText(n); err != nil {
		return nil, err
	}
	return q, q.check()
}

// OfFilter is the query that asks for the matches of a filter which is parsed already, as
// the front of a pipeline has it, and for nothing else: see Reading. nil means everything.
// Errors: BadValue (2) for a bad combination.
func OfFilter(env *mql.Env, c *catalog.Collection, filter match.Node) (*Query, error) {
	if filter == nil {
		filter = match.AllOf()
	}
	filter = BindText(c, filter)
	q, err := ofFilter(env, c, filter)
	if err != nil {
		return nil, err
	}
	return q, match.CheckNearAndText(filter)
}

// Reading is the query with what the front of a pipeline asks for beside its filter: a
// find without filter, sort and projection, and a sort that is parsed already, nil for
// any order.
// Errors: BadValue (2) for a bad combination.
func (q *Query) Reading(f Find, sort *order.Pattern) (*Query, error) {
	r := *q
	r.Find = f
	if sort != nil && !sort.IsEmpty() {
		r.Pattern = sort
	}
	if err := r.takeHint(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.text != nil {
		r.metas |= 1 << expr.MetaTextScore // any later stage may read it
	}
	return &r, nil
}

// InNaturalOrder is the query with rows in the order of their insertion, as with the sort
// {$natural: 1}.
func (q *Query) InNaturalOrder() *Query {
	r := *q
	r.Natural = 1
	return &r
}

// ofFilter is the query of a filter alone, whose places are not checked yet.
// Errors: why the command is to end.
func ofFilter(env *mql.Env, c *catalog.Collection, n match.Node) (*Query, error) {
	n, err := match.NormalizeAsked(env, n)
	if err != nil {
		return nil, err
	}
	q := &Query{Coll: c, Match: n, collation: env.Collation}
	match.Walk(q.Match, func(n match.Node) {
		switch n := n.(type) {
		case *match.Text:
			q.text, q.noText = n, env.StableOnly
		case *match.Near:
			q.near = n
		}
	})
	return q, nil
}

// takeHint understands $natural in the hint, and an empty hint as none.
// Errors: BadValue (2) for an index beside a sort by $natural.
func (q *Query) takeHint() error {
	d, ok := q.Hint.Doc()
	if ok && d.IsEmpty() {
		q.Hint = bson.Value{}
		return nil
	}
	v, ok := d.Lookup("$natural")
	switch {
	case !ok && !q.Hint.IsMissing() && q.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "index hint not allowed with $natural sort order")
	case !ok:
		return nil
	}
	if d.Len() > 1 {
		return mongoerr.New(mongoerr.BadValue, "$natural hint may not be combined with other fields")
	}
	if err := q.setNatural(v); err != nil {
		return err
	}
	q.naturalHint = true
	q.Hint = bson.Value{}
	return nil
}

func (q *Query) parseSort(env *mql.Env) error {
	if q.Sort.IsEmpty() {
		return nil
	}
	if v, ok := q.Sort.Lookup("$natural"); ok {
		if q.Sort.Len() > 1 {
			return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1 and cannot be combined with other fields")
		}
		return q.setNatural(v)
	}
	p, err := order.Parse(env, q.Sort)
	if err != nil {
		return err
	}
	if !p.IsEmpty() {
		q.Pattern = &p
	}
	return nil
}

func (q *Query) setNatural(v bson.Value) error {
	n, ok := v.AsInt64()
	if !ok || n != 1 && n != -1 {
		return mongoerr.New(mongoerr.BadValue, "$natural sort cannot be set to a value other than -1 or 1.")
	}
	q.Natural = int(n)
	return nil
}

// Shape is the query without its values: the key of the plan cache.
func (q *Query) Shape() string {
	b := bson.NewBuilder(nil)
	if len(q.Min)+len(q.Max) > 0 {
		b.Raw("min", q.Min)
		b.Raw("max", q.Max)
	}
	b.Bool("limit", q.Limit > 0)
	if q.KeysOnly {
		b.BeginArray("k")
		for _, f := range q.NeedKeys {
			b.String("", f)
		}
		b.String("", q.Distinct)
		b.End()
	}
	return match.Shape(q.Match) + q.orderShape() + string(b.Doc())
}

// FilterShape is what an index filter goes by: filter, sort, projection and
// collation without values, of whatever type.
// Manual: reference/glossary#query-shape, reference/command/planCacheSetFilter.
func (q *Query) FilterShape() string { return match.Form(q.Match) + q.orderShape() }

// orderShape is sort, projection and collation as shapes show them.
func (q *Query) orderShape() string {
	b := bson.NewBuilder(nil)
	if q.Pattern != nil {
		q.Pattern.Append(b, "s")
	}
	if len(q.Projection) > 0 {
		b.Raw("p", q.Projection)
	}
	q.collation.Append(b, "c")
	return string(b.Doc())
}
