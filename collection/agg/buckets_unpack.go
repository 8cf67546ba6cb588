package agg

import (
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Unpack returns the documents (measurements) that a bucket of a MongoDB time-series collection holds in
// columns.
// Errors: BadValue (2) for a document that is no bucket, or a bucket of a version other than 1 (compressed columns).
func Unpack(doc bson.Raw, o Buckets) ([]bson.Raw, *mongoerr.Error) {
	control, _ := doc.Get("control").Doc()
	if v, _ := control.Get("version").AsInt64(); v != 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "This server takes buckets of version 1 only, and this one has version %d: its columns are compressed. Export the time-series collection itself instead.", v)
	}
	data, ok := doc.Get("data").Doc()
	times, timed := data.Get(o.TimeField).Doc()
	if !ok || !timed {
		return nil, mongoerr.New(mongoerr.BadValue, "A bucket holds the column data.%s", o.TimeField)
	}
	var rows []*bson.Builder
	positions := map[string]int{}
	for name := range times.Fields() {
		if _, err := strconv.Atoi(string(name)); err != nil {
			return nil, mongoerr.New(mongoerr.BadValue, "The values of a bucket's column are named by numbers, not %q", name)
		}
		b := bson.NewBuilder(nil)
		if meta := doc.Get("meta"); o.MetaField != "" && !meta.IsMissing() {
			b.Value(o.MetaField, meta)
		}
		positions[string(name)] = len(rows)
		rows = append(rows, b)
	}
	for field, column := range data.Fields() {
		values, ok := column.Doc()
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "The column data.%s of a bucket is no document", field)
		}
		for name, v := range values.Fields() {
			at, ok := positions[string(name)]
			if !ok {
				return nil, mongoerr.New(mongoerr.BadValue, "data.%s.%s of a bucket has no time", field, name)
			}
			rows[at].ValueBytes(field, v)
		}
	}
	out := make([]bson.Raw, len(rows))
	for i, b := range rows {
		out[i] = b.Doc()
	}
	return out, nil
}
