package plan

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/text"
)

// textIndex returns the text index of a collection; nil without a ready one. There is at most one.
func textIndex(c *catalog.Collection) *catalog.Index {
	if c == nil {
		return nil
	}
	for _, ix := range c.Indexes {
		if ix.Text != nil && ix.State == catalog.IndexReady {
			return ix
		}
	}
	return nil
}

// textIndexBuilding reports whether the collection has a text index that is still being built, so that
// plans cannot use it yet.
func textIndexBuilding(c *catalog.Collection) bool {
	return c != nil && slices.ContainsFunc(c.Indexes, func(ix *catalog.Index) bool { return ix.Text != nil && ix.State == catalog.IndexBuilding })
}

// BindText returns the filter with its $text bound to the rules of the collection's text index, so that it can be
// evaluated on single documents. Without a ready text index, the filter stays unchanged.
func BindText(c *catalog.Collection, n match.Node) match.Node {
	if match.Features(n)&match.UsesText == 0 {
		return n
	}
	if ix := textIndex(c); ix != nil {
		return match.BindText(n, textMatcher{ix.Spec})
	}
	return n
}

// textMatcher evaluates $text on single documents.
type textMatcher struct{ spec *index.Spec }

// MatchText implements match.TextMatcher.
func (m textMatcher) MatchText(t *match.Text, doc bson.Raw) bool {
	query := textQuery(m.spec, t)
	return m.spec.TextScore(doc, query) > 0 && m.spec.TextMatch(doc, query)
}

func textQuery(s *index.Spec, t *match.Text) *text.Query {
	return s.TextQuery(t.Search, t.Language, t.CaseSensitive, t.DiacriticSensitive)
}

// fullText plans a query with $text, which only the text index can answer.
//
// Manual: reference/operator/query/text.
func (q *Query) fullText() ([]*Solution, error) {
	ix := textIndex(q.Coll)
	switch {
	case ix == nil && textIndexBuilding(q.Coll):
		return nil, mongoerr.New(mongoerr.IndexNotFound, "text index required for $text query, and the one there is is still being built")
	case ix == nil: // programs compare the whole text
		return nil, mongoerr.New(mongoerr.IndexNotFound, "text index required for $text query")
	case ix.Hidden || q.stable:
		return nil, q.noPlans("need exactly one text index for $text query")
	}
	cs := q.conjuncts(q.Match)
	for _, c := range cs {
		t, ok := c.node.(*match.Text)
		if !ok {
			continue
		}
		n, err := q.textNode(t, cs)
		if err != nil {
			return nil, err
		}
		return q.only(q.finish(n, q.Pattern == nil, ix.Name, false)), nil
	}
	if sols := q.union(cs); sols != nil {
		return q.only(sols[0]), nil
	}
	return nil, q.noPlans("Failed to produce a solution for TEXT under OR - other non-TEXT clauses under OR have to be indexed as well.")
}

// textNode plans the lookup of the words of the $text t in the text index. cs are the conjuncts of the filter,
// with t; the others are tested on the documents found. The conjuncts must bound the index fields before the
// text to single values.
func (q *Query) textNode(t *match.Text, cs []conjunct) (Node, error) {
	ix := textIndex(q.Coll)
	if ix == nil || ix.Hidden {
		return nil, q.noPlans("no text index")
	}
	if !q.coversPartial(ix, cs) {
		return nil, q.noPlans("failed to use text index to satisfy $text query: the filter does not imply its partialFilterExpression")
	}
	query := textQuery(ix.Spec, t)
	at := ix.TextField()
	bounds := make(Bounds, len(ix.Fields()))
	for i := range bounds {
		bounds[i] = everything
		f := q.field(ix, i, approach{}, cs, nil)
		switch {
		case f.bounds && (i > at || f.IsPoint()):
			bounds[i] = f.FieldBounds
		case i < at:
			return nil, q.noPlans("failed to use text index to satisfy $text query (if text index is compound, are equality predicates given for all prefix fields?)")
		}
	}
	if len(query.Terms) == 0 || bounds.Empty() {
		return &EOF{}, nil
	}
	var a bson.Arena
	var branches []Node
	for i, term := range query.Terms {
		b := append(Bounds(nil), bounds...)
		v := a.String(term)
		b[at] = encodeField([]match.Interval{{Lo: v, Hi: v, LoInclusive: true, HiInclusive: true}}, keystring.Ascending, nil)
		branches = append(branches, &IndexScan{Index: ix, Bounds: b, Seeks: b.Seeks(), Sibling: i > 0})
	}
	or := &TextOr{Branches: branches, Scores: q.reads(expr.MetaTextScore), Field: at}
	n := &TextMatch{Input: &Fetch{Input: or}, Index: ix, Text: t, Query: query, Filter: without(cs, t)}
	return n, nil
}
