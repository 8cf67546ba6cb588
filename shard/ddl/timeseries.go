package ddl

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// seriesIndexes returns the initial indexes of a time-series collection.
// Manual: core/timeseries/timeseries-secondary-index.
func seriesIndexes(o *catalog.Options) []bson.Raw {
	if o.MetaField == "" {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.Int32("v", 2)
	b.BeginDoc("key")
	b.Int32(o.MetaField, 1)
	b.Int32(o.TimeField, 1)
	b.End()
	b.String("name", o.MetaField+"_1_"+o.TimeField+"_1")
	return []bson.Raw{b.Doc()}
}

// checkSeriesIndex rejects indexes that MongoDB does not allow on time-series collections, because it stores these in
// buckets.
// Manual: core/timeseries/timeseries-secondary-index.
// Errors: InvalidOptions (72), CannotCreateIndex (67), IndexOptionsConflict (85), 7246201.
func checkSeriesIndex(coll *catalog.Collection, spec *index.Spec) error {
	o := &coll.Options
	if o.TimeSeries == nil {
		return nil
	}
	invalid := func(what string) error {
		return mongoerr.New(mongoerr.InvalidOptions, "%s are not supported on time-series collections", what)
	}
	onMeta, onTime := true, false
	for f := range spec.Key.Fields() {
		first, _, _ := strings.Cut(string(f), ".")
		onMeta = onMeta && o.MetaField != "" && first == o.MetaField
		onTime = string(f) == o.TimeField
	}
	switch spec.Kind.Name {
	case "text":
		return invalid("Text indexes")
	case "wildcard":
		return mongoerr.New(7246201, "wildcard indexes are not supported on time-series collections")
	case "hashed", "2d":
		if !onMeta {
			return mongoerr.New(mongoerr.CannotCreateIndex, "%s indexes are only supported on the metaField of a time-series collection", spec.Kind.Name)
		}
	}
	switch {
	case spec.Unique:
		return invalid("Unique indexes")
	case spec.Sparse && !onMeta:
		return invalid("Sparse indexes on measurements")
	case spec.HasTTL && (!onTime || len(spec.Parts) != 1 || spec.Partial == nil || !match.OnlyOn(spec.Partial, o.MetaField)):
		return mongoerr.New(mongoerr.InvalidOptions, "TTL indexes on time-series collections must be on the timeField, with a partialFilterExpression on the metaField")
	case spec.Partial != nil && spec.Collation != nil && !spec.Collation.Equal(o.Collation):
		return mongoerr.New(mongoerr.IndexOptionsConflict, "the collation of a partial index on a time-series collection must be that of the collection")
	}
	return nil
}
