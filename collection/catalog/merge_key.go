package catalog

import (
	"slices"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// MergeKey checks that the fields of `on` of a $merge (none = _id, unchecked without release.MergeByCollation)
// identify a document: there must be a ready unique index on exactly these fields, of the plain kind, not partial, with the collation by
// which values are compared. If c is nil (the collection does not exist), only _id does. nullable reports whether the
// fields may be null or missing: the release allows it, and the index is not sparse.
// Manual: reference/operator/aggregation/merge#on-field. Errors: 51183.
func (c *Collection) MergeKey(env *mql.Env, on []string) (nullable bool, err error) {
	byID := len(on) == 0 || len(on) == 1 && on[0] == "_id"
	nulls := env.Release.Has(release.MergeOnNull)
	if byID && (c == nil || len(on) == 0 && !env.Release.Has(release.MergeByCollation)) {
		return nulls, nil
	}
	var indexes []*Index
	if c != nil {
		indexes = c.Indexes
	}
	found := false
	for i, ix := range indexes {
		fields := ix.Fields()
		unique := ix.Unique && ix.Partial == nil && ix.IsOrdered() && len(fields) == len(on) || i == 0 && byID
		for _, f := range on {
			unique = unique && slices.Contains(fields, f)
		}
		if unique && ix.State == IndexReady && ix.Collation.Equal(env.Collation) {
			found, nullable = true, nullable || nulls && !ix.Sparse
		}
	}
	if !found {
		err = mongoerr.New(51183, "Cannot find index to verify that join fields will be unique; create a unique index on the fields of 'on', with the collation of the pipeline")
	}
	return nullable, err
}
