package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/project"
)

// check validates the combination of a find's arguments, before indexes are considered.
//
// Errors: BadValue (2) for arguments that exclude each other, and for sortKey metadata without a sort; 51173 for min
// or max without a hint, 51176 if their field names differ; 40218 for metadata that the query does not provide.
func (q *Query) check() error {
	hinted := !q.Hint.IsMissing()
	switch {
	case q.text != nil && (hinted || q.naturalHint):
		return mongoerr.New(mongoerr.BadValue, "text and hint not allowed in same query")
	case q.text != nil && q.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "text expression not allowed with $natural sort order")
	case q.text != nil && q.ReturnKey:
		return mongoerr.New(mongoerr.BadValue, "text and returnKey not allowed in same query")
	case q.near != nil && q.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "geoNear expression not allowed with $natural sort order")
	}
	if err := q.checkMinMax(); err != nil {
		return err
	}
	return q.checkMeta()
}

// checkMinMax validates the arguments min and max of a find, as far as possible without the hinted index.
// Manual: reference/method/cursor.min, reference/method/cursor.max.
func (q *Query) checkMinMax() error {
	if q.Min.IsEmpty() && q.Max.IsEmpty() {
		return nil
	}
	if !q.Min.IsEmpty() && !q.Max.IsEmpty() && !sameNames(q.Min, q.Max) {
		return mongoerr.New(51176, "min and max must have the same field names")
	}
	switch {
	case q.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "cannot use min() or max() with $natural")
	case q.Hint.IsMissing():
		return mongoerr.New(51173, "When using min()/max() a hint of which index to use must be provided")
	}
	return nil
}

func sameNames(a, b bson.Raw) bool {
	x, y := a.Iter(), b.Iter()
	for x.Next() {
		if !y.Next() || string(x.Name) != string(y.Name) {
			return false
		}
	}
	return !y.Next()
}

// checkMeta sets metas to the kinds of $meta metadata that sort, projection and caller read. It rejects a kind
// that the query does not provide, such as textScore without $text.
// Manual: reference/operator/aggregation/meta.
func (q *Query) checkMeta() error {
	q.metas = q.Metas
	if q.Transform != nil {
		q.metas |= project.Metas(q.Transform)
	}
	if q.Pattern != nil {
		for _, part := range q.Pattern.Parts {
			if k, ok := expr.ParseMetaKind(part.Meta); ok {
				q.metas |= 1 << k
			}
		}
	}
	for k := expr.MetaKind(0); q.metas>>k != 0; k++ {
		if !q.reads(k) {
			continue
		}
		have, what := false, k.String()
		switch k {
		case expr.MetaTextScore:
			have, what = q.text != nil, "text score"
		case expr.MetaGeoNearDistance:
			have, what = q.near != nil, "$geoNear distance"
		case expr.MetaGeoNearPoint:
			have, what = q.near != nil, "$geoNear point"
		case expr.MetaSortKey:
			if q.Pattern == nil {
				return mongoerr.New(mongoerr.BadValue, "cannot use sortKey $meta projection without a sort")
			}
			have = true
		case expr.MetaRandVal, expr.MetaRecordID, expr.MetaIndexKey:
			have = true
		}
		if !have {
			return mongoerr.New(40218, "query requires %s metadata, but it is not available", what)
		}
	}
	return nil
}

// reads reports whether sort, projection or caller read a kind of metadata.
func (q *Query) reads(k expr.MetaKind) bool { return q.metas&(1<<k) != 0 }

// needsKey reports whether rows must carry their index key.
func (q *Query) needsKey() bool { return q.ReturnKey || q.reads(expr.MetaIndexKey) }
