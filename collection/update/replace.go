package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// parseReplacement reads an update that is a replacement document. Manual:
// reference/method/db.collection.replaceOne.
//
// Errors: FailedToParse with multi, DollarPrefixedFieldName.
func parseReplacement(doc bson.Raw, o Options) (*Program, error) {
	if o.Multi {
		return nil, mongoerr.New(mongoerr.FailedToParse, "multi update is not supported for replacement-style update")
	}
	for it := doc.Iter(); it.Next(); {
		if len(it.Name) > 0 && it.Name[0] == '$' {
			return nil, dollarField(string(it.Name))
		}
	}
	return &Program{replacement: doc}, nil
}

// applyReplacement writes the replacement of doc, with _id in front: that of doc if the replacement has none or an
// equal one. Empty timestamps in other top-level fields become the cluster time.
func (p *Program) applyReplacement(env *mql.Env, dst *bson.Builder, doc bson.Raw) error {
	id := p.replacement.Get("_id")
	if old, ok := doc.Lookup("_id"); ok && (id.IsMissing() || bson.Equal(id, old, nil)) {
		id = old
	}
	dst.Value("_id", id)
	for it := p.replacement.Iter(); it.Next(); {
		if string(it.Name) == "_id" {
			continue
		}
		if t, i, ok := it.Value.Timestamp(); ok && t == 0 && i == 0 {
			dst.Timestamp(string(it.Name), uint32(env.ClusterTime>>32), uint32(env.ClusterTime))
			continue
		}
		dst.ValueBytes(it.Name, it.Value)
	}
	return nil
}
