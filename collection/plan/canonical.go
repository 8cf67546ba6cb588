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

// Find holds the arguments of a find, or of the leading part of a pipeline, an update, a delete, a count
// or a distinct. A zero field means that the argument is absent.
type Find struct {
	Filter, Sort, Projection bson.Raw
	Hint                     bson.Value // index name or key pattern, or {$natural: ±1}
	Min, Max                 bson.Raw   // explicit index bounds; need Hint
	Skip, Limit              int64
	ReturnKey, ShowRecordID  bool
	// KeysOnly reports that the caller reads only the fields NeedKeys, not whole documents (count, distinct, many
	// pipelines). If NeedKeys is empty too, the caller only counts rows.
	KeysOnly bool
	NeedKeys []string
	// AnyOrder reports that the caller reads all rows before it has a result, which does not depend on their order.
	AnyOrder bool
	// Distinct is the path of a distinct: the caller needs one row per value of the path and reads no
	// other field. "" returns every row.
	Distinct string
	// Elements reports that the caller of a Distinct takes each element of an array as a value.
	Elements bool
	// Edge, if not nil, is an order within the documents of one value of Distinct: the caller needs, for each value, the
	// first document in this order, or with EdgeLast the last one. An empty order makes no difference between them. The
	// caller removes further documents and reads NeedKeys, or whole documents without KeysOnly.
	Edge     *order.Pattern
	EdgeLast bool
	// Metas are the kinds of metadata (expr.MetaTextScore and so on), as bits, that the caller reads from the
	// rows, in addition to the kinds that sort and projection read.
	Metas uint32
}

// Query is a canonical query: everything is parsed and normalised. Immutable: methods that change
// something return a copy (Reading, InNaturalOrder, Allow, Cache.Restrict).
type Query struct {
	Find
	Coll      *catalog.Collection
	Match     match.Node
	Pattern   *order.Pattern    // nil without a sort
	Transform project.Transform // nil without a projection
	// Natural is the direction of $natural in sort or hint, 0 without it.
	Natural     int
	naturalHint bool // $natural came from the hint
	// collation is the effective collation: the command's, else the collection's.
	collation *mql.Collation
	// Only restricts the plan to some indexes, by name or key pattern, as an index filter does; nil
	// means no restriction.
	Only []bson.Value
	// unrestricted is the query without the settings of Allow; nil without settings. scans reports that the
	// settings permit a collection scan.
	unrestricted *Query
	scans        bool

	text *match.Text // the $text anywhere in the filter
	// stable forbids text indexes, and sparse indexes as a hint: the client has only version 1 of the stable API.
	stable bool
	near   *match.Near // the $near in the filter
	metas  uint32      // kinds of metadata that caller, sort and projection read, as bits

	asking *asking // set during planning
}

// Canonical parses the arguments of a find on a collection into a query that can be planned.
// Errors: the errors of the parsers, takeHint, check and match.CheckNearAndText.
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

// OfFilter returns the query for a parsed filter of the leading stages of a pipeline, without other arguments:
// Reading adds them. A nil filter matches everything.
// Errors: the errors of match.CheckNearAndText; the reason why the command must end.
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

// Reading returns the query with the other arguments of a pipeline's leading stages. f is a find without
// filter, sort and projection; sort is a parsed sort, nil for any order.
// Errors: the errors of takeHint and check.
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

// InNaturalOrder returns the query with the sort {$natural: 1}: rows of a capped collection in insertion order.
func (q *Query) InNaturalOrder() *Query {
	r := *q
	r.Natural = 1
	return &r
}

// ofFilter returns the query of a filter alone. It does not check where $near and $text are placed.
// Errors: the reason why the command must end.
func ofFilter(env *mql.Env, c *catalog.Collection, n match.Node) (*Query, error) {
	n, err := match.NormalizeInterruptible(env, n)
	if err != nil {
		return nil, err
	}
	q := &Query{Coll: c, Match: n, collation: env.Collation, stable: env.StableOnly}
	match.Walk(q.Match, func(n match.Node) {
		switch n := n.(type) {
		case *match.Text:
			q.text = n
		case *match.Near:
			q.near = n
		}
	})
	return q, nil
}

// takeHint moves a $natural in the hint to the query's Natural, and removes an empty hint.
// Errors: BadValue (2) for an index hint with a sort by $natural, and for a bad $natural hint.
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

// Shape returns the query without its values, but with those of min and max: the key of the plan cache.
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
		if q.Elements {
			b.Bool("elements", true)
		}
	}
	if q.Edge != nil {
		b.String("distinct", q.Distinct)
		q.Edge.Append(b, "edge")
		b.Bool("last", q.EdgeLast)
	}
	return match.Shape(q.Match) + q.orderShape() + string(b.Doc())
}

// FilterShape returns the key of an index filter: the filter without values and their types, with sort, projection
// and collation.
// Manual: reference/glossary#query-shape, reference/command/planCacheSetFilter.
func (q *Query) FilterShape() string { return match.Form(q.Match) + q.orderShape() }

// orderShape returns the part of a shape for sort, projection and collation.
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
