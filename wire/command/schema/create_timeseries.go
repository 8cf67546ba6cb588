package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// bucketSpanMax is the maximum span of a time-series bucket: a year, in seconds.
const bucketSpanMax = 31536000

// bucketSpans holds the spans of time-series buckets, in seconds, by granularity.
// Manual: core/timeseries/timeseries-granularity.
var bucketSpans = map[string]int64{"seconds": 3600, "minutes": 86400, "hours": 2592000}

// bucketsPrefix is the prefix of the collections in which MongoDB stores the buckets of time series. Here these
// collections are virtual, for tools that copy them: they are listed, buckets are made when a client reads them, and
// unpacked into measurements when a client writes them.
const bucketsPrefix = catalog.BucketsPrefix

// bucketsInfo returns the description of the bucket collection of a time series for listCollections, with nameOnly
// only its name and type.
func bucketsInfo(coll *catalog.Collection, nameOnly bool) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("name", bucketsPrefix+coll.Namespace.Coll)
	b.String("type", "collection")
	if nameOnly {
		return b.Doc()
	}
	b.BeginDoc("options")
	b.Splice(coll.Options.Raw.Elements())
	b.Bool("clusteredIndex", true)
	b.End()
	b.BeginDoc("info")
	b.Bool("readOnly", false)
	b.Binary("uuid", 4, coll.UUID[:])
	b.End()
	return b.Doc()
}

// timeseriesArg reads the argument timeseries of create, and returns it with its defaults added; nil if it is
// missing.
// Errors: TypeMismatch (14), BadValue (2), InvalidOptions (72), IDLFailedToParse (40414), IDLUnknownField (40415).
func timeseriesArg(c *command.Call, name string, v bson.Value) (bson.Raw, error) {
	d, err := c.DocArg(name, v)
	if err != nil || v.IsMissing() {
		return nil, err
	}
	var timeField, metaField, granularity string
	var hasMeta bool
	var span, rounding int64
	var hasSpan, hasRounding bool
	err = c.ReadFields(name, d,
		arguments.String("timeField", &timeField).Required(),
		arguments.String("metaField", &metaField).Given(&hasMeta),
		arguments.Enum("granularity", &granularity, "seconds", "minutes", "hours"),
		arguments.Long("bucketMaxSpanSeconds", &span).Within(1, bucketSpanMax).Given(&hasSpan),
		arguments.Long("bucketRoundingSeconds", &rounding).Within(1, bucketSpanMax).Given(&hasRounding),
	)
	if err != nil {
		return nil, err
	}
	if err := checkTimeField("timeField", timeField); err != nil {
		return nil, err
	}
	if hasMeta {
		if err := checkTimeField("metaField", metaField); err != nil {
			return nil, err
		}
		if metaField == "_id" || metaField == timeField {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "The 'metaField' cannot be \"_id\" or the same as 'timeField'")
		}
	}
	switch {
	case hasSpan && !hasRounding && span == bucketSpans[granularity]:
		hasSpan = false // equal to the default of the granularity
	case hasSpan != hasRounding || span != rounding:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' must be set to the same value")
	case hasSpan && granularity != "" && span != bucketSpans[granularity]:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Timeseries 'bucketMaxSpanSeconds' is not configurable to a value other than the default of %d for the provided granularity", bucketSpans[granularity])
	}
	b := bson.NewBuilder(nil)
	b.String("timeField", timeField)
	if hasMeta {
		b.String("metaField", metaField)
	}
	if !hasSpan {
		if granularity == "" {
			granularity = "seconds"
		}
		b.String("granularity", granularity)
		span = bucketSpans[granularity]
	} else {
		b.Int("bucketRoundingSeconds", rounding)
	}
	b.Int("bucketMaxSpanSeconds", span)
	return b.Doc(), nil
}

// checkTimeField refuses an invalid field name for the option timeField or metaField of a time series.
// Errors: InvalidOptions (72), BadValue (2).
func checkTimeField(option, name string) error {
	if strings.Contains(name, ".") {
		return mongoerr.New(mongoerr.InvalidOptions, "'%s' must be a top-level field and not contain a '.'", option)
	}
	if strings.ContainsRune(name, 0) {
		return mongoerr.New(mongoerr.BadValue, "'%s' must not contain null bytes", option)
	}
	return nil
}
