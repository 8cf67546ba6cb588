package index

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// OfBuckets returns an error of Keys as a time-series collection has it, where indexes are on buckets: errInfo names a
// path of a bucket, and the code is another one if that path is of measurements. In releases of MongoDB without errInfo,
// and for any other error, OfBuckets returns err.
// Manual: release-notes/9.0-compatibility (Geospatial Index Key-Extraction Error Codes).
func OfBuckets(err error, metaField string) error {
	e := mongoerr.From(err)
	if e.Code != mongoerr.GeoKeyExtractionFailed || len(e.Fields) == 0 {
		return err
	}
	b := bson.NewBuilder(nil)
	b.Splice(e.Fields)
	info, _ := b.Doc().Get("errInfo").Doc()
	code := mongoerr.GeoKeyExtractionFailedTimeseries
	path, _ := info.Get("failingPath").Str()
	if metaField != "" && (path == metaField || strings.HasPrefix(path, metaField+".")) {
		code, path = mongoerr.GeoKeyExtractionFailed, "meta"+path[len(metaField):]
	} else {
		path = "data." + path
	}
	b = bson.NewBuilder(nil)
	b.BeginDoc("errInfo")
	for it := info.Iter(); it.Next(); {
		if string(it.Name) == "failingPath" {
			b.String("failingPath", path)
		} else {
			b.Value(string(it.Name), it.Value)
		}
	}
	b.End()
	return mongoerr.New(code, "%s", e.Msg).WithFields(b.Doc().Elements())
}
