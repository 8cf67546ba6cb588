package agg

import (
	"math"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// bucketSecondsMax is the longest span of a time-series bucket: a year.
const bucketSecondsMax = 31536000

// parseTimeSeries validates the option timeseries of $out. It returns it with defaults, without null options.
// Manual: reference/operator/aggregation/out#time-series.
//
// Errors: TypeMismatch, BadValue, InvalidOptions, 40414, 40415.
func parseTimeSeries(d bson.Raw) (bson.Raw, error) {
	const stage = "$out.timeseries"
	b := bson.NewBuilder(nil)
	var timeField, metaField, granularity string
	spans := [2]int64{}
	for it := d.Iter(); it.Next(); {
		v, name := it.Value, string(it.Name)
		text, isText := v.Str()
		switch name {
		case "timeField", "metaField", "granularity":
			if v.Type == bson.TypeNull && name != "timeField" {
				continue
			}
			if v.Type == bson.TypeNull {
				return nil, mongoerr.New(40414, "BSON field '%s.timeField' is missing but a required field", stage)
			}
			if !isText || v.Type != bson.TypeString {
				return nil, mongoerr.WrongType(stage+"."+name, v.Type.String(), "string")
			}
			switch name {
			case "timeField":
				timeField = text
			case "metaField":
				metaField = text
			default:
				granularity = text
				if text != "seconds" && text != "minutes" && text != "hours" {
					return nil, mongoerr.BadEnum(stage+".granularity", text)
				}
			}
		case "bucketMaxSpanSeconds", "bucketRoundingSeconds":
			if v.Type == bson.TypeNull {
				continue
			}
			if !v.IsNumber() {
				return nil, mongoerr.WrongType(stage+"."+name, v.Type.String(), "int", "decimal", "double", "long")
			}
			n := wholeSeconds(v)
			if n < 1 || n > bucketSecondsMax {
				return nil, mongoerr.New(mongoerr.BadValue, "BSON field '%s.%s' must be between 1 and %d, actual value '%d'", stage, name, bucketSecondsMax, min(n, math.MaxInt32))
			}
			if name == "bucketMaxSpanSeconds" {
				spans[0] = n
			} else {
				spans[1] = n
			}
			b.Int(name, n)
			continue
		default:
			return nil, mongoerr.New(40415, "BSON field '%s.%s' is an unknown field.", stage, name)
		}
		b.Value(name, v)
	}
	switch {
	case timeField == "" && d.Get("timeField").IsMissing():
		return nil, mongoerr.New(40414, "BSON field '%s.timeField' is missing but a required field", stage)
	case strings.Contains(timeField, "."):
		return nil, mongoerr.New(mongoerr.InvalidOptions, "The 'timeField' must be a top-level field and not contain a '.'")
	case strings.Contains(metaField, "."):
		return nil, mongoerr.New(mongoerr.InvalidOptions, "The 'metaField' must be a top-level field and not contain a '.'")
	case granularity != "" && spans[0] > 0 && spans[0] != bucketSpan(granularity):
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Timeseries 'bucketMaxSpanSeconds' is not configurable to a value other than the default of %d for the provided granularity", bucketSpan(granularity))
	case spans[0] != spans[1]:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' must be set to the same value")
	}
	if granularity == "" && spans[0] == 0 {
		b.String("granularity", "seconds")
	}
	if spans[0] == 0 {
		b.Int("bucketMaxSpanSeconds", bucketSpan(granularity))
	}
	return b.Doc(), nil
}

// bucketSpan returns the longest time span of a time-series bucket, in seconds, by granularity.
// Manual: core/timeseries/timeseries-granularity.
func bucketSpan(granularity string) int64 {
	switch granularity {
	case "minutes":
		return 86400
	case "hours":
		return 2592000
	}
	return 3600
}

// wholeSeconds returns a number of seconds as an integer: it truncates doubles and rounds decimals half to
// even.
func wholeSeconds(v bson.Value) int64 {
	if d, ok := v.Decimal(); ok {
		n, _ := decimal.ToInt64(d, decimal.HalfEven)
		return n
	}
	n, _ := v.TruncInt64()
	return n
}
