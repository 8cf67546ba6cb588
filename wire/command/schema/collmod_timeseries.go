package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// seriesChange holds the options of a time-series collection that collMod changes.
type seriesChange struct {
	granularity          string
	span, rounding       int64
	hasSpan, hasRounding bool
}

// seriesChangeArg reads the argument timeseries of collMod: a granularity, or the span of buckets in seconds.
// Errors: TypeMismatch (14), BadValue (2), IDLUnknownField (40415).
func seriesChangeArg(c *command.Call, name string, v bson.Value) (*seriesChange, error) {
	d, err := c.DocArg(name, v)
	if err != nil {
		return nil, err
	}
	s := &seriesChange{}
	return s, c.ReadFields(name, d,
		arguments.Enum("granularity", &s.granularity, "seconds", "minutes", "hours"),
		arguments.Long("bucketMaxSpanSeconds", &s.span).Within(1, bucketSpanMax).Given(&s.hasSpan),
		arguments.Long("bucketRoundingSeconds", &s.rounding).Within(1, bucketSpanMax).Given(&s.hasRounding),
	)
}

// apply adds the changed option timeseries to the options of a collMod. It refuses a span of buckets, in seconds,
// below the present one: a span can only grow.
// Manual: core/timeseries/timeseries-granularity. Errors: InvalidOptions (72).
func (s *seriesChange) apply(coll *catalog.Collection, a *collModArgs) error {
	invalid := func(format string, args ...any) error { return mongoerr.New(mongoerr.InvalidOptions, format, args...) }
	custom := s.hasSpan || s.hasRounding
	switch {
	case !custom && s.granularity == "":
		return nil
	case custom && s.granularity != "":
		return invalid("Cannot set timeseries.granularity together with bucketMaxSpanSeconds and bucketRoundingSeconds")
	case custom && (s.hasSpan != s.hasRounding || s.span != s.rounding):
		return invalid("Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' must be set to the same value")
	}
	old, _ := coll.Options.TimeSeries.Get("bucketMaxSpanSeconds").AsInt64()
	span := s.span
	if !custom {
		span = bucketSpans[s.granularity]
	}
	if span < old {
		return invalid("Invalid transition for timeseries buckets: they would span %d seconds instead of %d", span, old)
	}
	a.set.BeginDoc("timeseries")
	for _, name := range []string{"timeField", "metaField"} {
		if v, ok := coll.Options.TimeSeries.Lookup(name); ok {
			a.set.Value(name, v)
		}
	}
	if custom {
		a.set.Int("bucketRoundingSeconds", span)
	} else {
		a.set.String("granularity", s.granularity)
	}
	a.set.Int("bucketMaxSpanSeconds", span)
	a.set.End()
	return nil
}
