package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// insertBuckets stores the measurements of time-series buckets as single documents. mongorestore inserts such buckets
// into the namespace with the prefix system.buckets. n is the number of buckets that were stored whole. A retry of the
// command stores them again, because measurements need no unique _id.
//
// Errors: for each bucket, the error of its first refused measurement; BadValue (2) for a document that is not a
// bucket, or is a compressed bucket.
func insertBuckets(c *command.Call, series *catalog.Collection, buckets []bson.Raw, ordered bool) (n int, errs []mongoerr.WriteError, err error) {
	for i, doc := range buckets {
		rows, bad := agg.Unpack(doc, cluster.BucketsOf(&series.Options))
		if bad == nil && len(rows) > 0 {
			_, refused, err := c.Cluster.Insert(&c.Op, series.Namespace, rows, true)
			if err != nil {
				return n, errs, err
			}
			if len(refused) > 0 {
				bad = refused[0].Err
			}
		}
		if bad == nil {
			n++
			continue
		}
		errs = append(errs, mongoerr.WriteError{Index: int32(i), Err: bad})
		if ordered {
			break
		}
	}
	return n, errs, nil
}
