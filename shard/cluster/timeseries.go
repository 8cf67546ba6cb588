package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Time-series collections hold ordinary documents, one record each, in the order
// of their time. What MongoDB forbids because of its buckets is forbidden here too.
// Manual: core/timeseries/timeseries-limitations.

// timePosition returns the first free one of SameTimeMax positions for a document, the last if all others are taken:
// several documents may have the same _id and time.
func (a *attempt) timePosition(doc bson.Raw) (keyspace.Hash, error) {
	h, err := a.coll.Position(doc)
	if err != nil {
		return 0, err
	}
	id := keystring.Append(nil, doc.Get("_id"), keystring.Ascending, a.coll.Options.Collation.Order(), nil)
	for range catalog.SameTimeMax - 1 {
		taken, err := a.txn.Has(a.op.Env.Context(), keyspace.AppendRecord(nil, a.coll.ID, h, id))
		if !taken || err != nil {
			return h, err
		}
		h++
	}
	return h, nil
}

// checkModify rejects changes of views, and those that a time-series collection does not allow.
// Errors: CommandNotSupportedOnView (166), the errors of checkSeriesUpdate.
func (c *Cluster) checkModify(o *Op, ns collection.Namespace, m *Modify) error {
	switch coll := c.latest(o).Collection(ns); {
	case coll == nil:
		return nil
	case coll.IsView():
		return mongoerr.ViewNotAllowed(ns.String())
	case coll.Options.TimeSeries != nil && m.Update != nil:
		return checkSeriesUpdate(o, coll, m)
	}
	return nil
}

// checkSeriesUpdate rejects updates of a time-series collection, except those by operators, without upsert, of the
// metaField in all matches of a filter on the metaField.
// Manual: core/timeseries/timeseries-limitations#updates. Errors: InvalidOptions (72), the errors of match.Parse.
func checkSeriesUpdate(o *Op, coll *catalog.Collection, m *Modify) error {
	invalid := func(what string) error {
		return mongoerr.New(mongoerr.InvalidOptions, "Cannot perform %s on a time-series collection: %s", what, coll.Namespace)
	}
	meta := coll.Options.MetaField
	switch {
	case m.Upsert:
		return invalid("an upsert")
	case !m.Multi:
		return invalid("a non-multi update")
	case m.Update.IsPipeline():
		return invalid("an update with a pipeline")
	case m.Update.IsReplacement():
		return invalid("a replacement")
	case meta == "":
		return invalid("an update without a metaField")
	}
	others := false
	m.Update.Paths(func(p path.Path) { others = others || p.First() != meta })
	if others {
		return invalid("an update of a field that is not the metaField")
	}
	f, err := match.Parse(o.Env, m.Find.Filter)
	if err != nil {
		return err
	}
	if !match.OnlyOn(f, meta) {
		return invalid("an update by a field that is not the metaField")
	}
	return nil
}

// BucketsOf returns how a time-series collection is divided into buckets when its buckets are read.
// Manual: core/timeseries/timeseries-granularity.
func BucketsOf(o *catalog.Options) agg.Buckets {
	span, ok := o.TimeSeries.Get("bucketMaxSpanSeconds").AsInt64()
	if !ok || span <= 0 {
		span = 3600
	}
	round, ok := o.TimeSeries.Get("bucketRoundingSeconds").AsInt64()
	if !ok || round <= 0 {
		switch g, _ := o.TimeSeries.Get("granularity").Str(); g {
		case "minutes":
			round = 3600
		case "hours":
			round = 86400
		default:
			round = 60
		}
	}
	return agg.Buckets{TimeField: o.TimeField, MetaField: o.MetaField, SpanMillis: span * 1000, RoundMillis: round * 1000}
}
