package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
)

// bucketIndexDocs returns descriptions of the indexes of a time series as indexes of its buckets, as MongoDB has
// them. "meta" stands for the metaField, and the minimum and maximum in a bucket stand for the time field and for
// measured fields.
// Manual: core/timeseries/timeseries-secondary-index.
func bucketIndexDocs(series *catalog.Collection) []bson.Raw {
	meta := series.Options.MetaField
	var docs []bson.Raw
	for _, ix := range shownIndexes(series) {
		if ix.State != catalog.IndexDropping {
			docs = append(docs, bucketIndexSpec(ix, meta))
		}
	}
	return docs
}

// bucketIndexSpec returns the specification of an index of a time series as one of its buckets. meta is the name of the
// metaField.
func bucketIndexSpec(ix *catalog.Index, meta string) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := ix.Raw().Iter(); it.Next(); {
		if string(it.Name) != "key" {
			b.ValueBytes(it.Name, it.Value)
			continue
		}
		key, _ := it.Value.Doc()
		b.BeginDoc("key")
		appendBucketKey(b, key, meta)
		b.End()
	}
	return b.Doc()
}

// appendBucketKey converts a key pattern of measurements into a key pattern of buckets, and appends it. meta is the
// name of the metaField.
func appendBucketKey(b *bson.Builder, key bson.Raw, meta string) {
	for it := key.Iter(); it.Next(); {
		name := string(it.Name)
		if rest, ok := strings.CutPrefix(name, meta); ok && meta != "" && (rest == "" || rest[0] == '.') {
			b.Value("meta"+rest, it.Value)
			continue
		}
		switch f, number := it.Value.AsFloat(); {
		case !number:
			b.Value("data."+name, it.Value)
		case f < 0:
			b.Value("control.max."+name, it.Value)
			b.Value("control.min."+name, it.Value)
		default:
			b.Value("control.min."+name, it.Value)
			b.Value("control.max."+name, it.Value)
		}
	}
}
