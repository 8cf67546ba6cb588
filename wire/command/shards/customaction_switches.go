package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// switchFields are the arguments that set the switches of a throughput in CreateCollection and similar actions. Azure
// Cosmos DB does not have these arguments.
var switchFields = []string{"serverSideRetry", "burst", "ruPerMinute", "throughputBuckets", "defaultMaxRequestUnits"}

// collectionSwitchFields are the same of a collection.
var collectionSwitchFields = append([]string{"tenants"}, switchFields...)

// switchArg reads one switch.
func switchArg(c *command.Call, s *catalog.Switches, name string, v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	switch name {
	case "throughputBuckets":
		return bucketsArg(c, s, name, v)
	case "tenants":
		return tenantsArg(c, s, name, v)
	}
	if name == "defaultMaxRequestUnits" {
		n, err := c.RequestUnitsArg(name, v)
		if s.RequestMax = int64(n); n == 0 {
			s.RequestMax = -1
		}
		return err
	}
	on, err := c.BoolArg(name, v)
	switch name {
	case "serverSideRetry":
		s.ServerSideRetry = catalog.SwitchOf(on)
	case "burst":
		s.Burst = catalog.SwitchOf(on)
	case "ruPerMinute":
		s.PerMinute = catalog.SwitchOf(on)
	}
	return err
}

// bucketsArg reads the argument throughputBuckets, [{id: 1, maxThroughputPercentage: 20, appName: "reports"}]: the
// throughput buckets that replace the existing ones.
// Source: Azure Cosmos DB, "throughput-buckets", which has no appName. Errors: BadValue (2), TypeMismatch (14).
func bucketsArg(c *command.Call, s *catalog.Switches, name string, v bson.Value) error {
	list, err := c.DocArray(name, v, catalog.BucketsMax)
	if err != nil {
		return err
	}
	for i := range s.Buckets {
		s.Buckets[i].Percent = -1
	}
	for _, d := range list {
		id, percent, app, most := int64(0), int64(0), "", ratelimit.MicroRU(0)
		whole := func(field string, to *int64, most int64) arguments.Arg {
			return arguments.By(field, func(v bson.Value) (err error) {
				if *to, err = wholeArg(c, name+"."+field, v); err == nil {
					err = arguments.Between(name+"."+field, *to, 1, most)
				}
				return err
			}).WithNull().Required()
		}
		err := c.ReadFields(name, d,
			whole("id", &id, catalog.BucketsMax),
			whole("maxThroughputPercentage", &percent, 100),
			arguments.String("appName", &app),
			c.RequestUnitsField(name, "defaultMaxRequestUnits", &most),
		)
		switch {
		case err != nil:
			return err
		case s.Buckets[id-1].Percent > 0:
			return mongoerr.New(mongoerr.BadValue, "throughput bucket %d is given twice", id)
		}
		s.Buckets[id-1] = catalog.Bucket{Percent: int32(percent), AppName: app, RequestMax: int64(most)}
	}
	return nil
}

// appendSwitches prints the switches that have been set; without values, those of tenants without their shard key values.
func appendSwitches(b *bson.Builder, s catalog.Switches, values bool) {
	for _, x := range [...]struct {
		name  string
		value catalog.Switch
	}{{"serverSideRetry", s.ServerSideRetry}, {"burst", s.Burst}, {"ruPerMinute", s.PerMinute}} {
		if x.value != catalog.Inherit {
			b.Bool(x.name, x.value == catalog.On)
		}
	}
	if s.RequestMax != 0 {
		b.Double("defaultMaxRequestUnits", ratelimit.MicroRU(s.RequestMax).Exact())
	}
	appendTenants(b, s.Tenants, values)
	if s.Buckets == ([catalog.BucketsMax]catalog.Bucket{}) {
		return
	}
	b.BeginArray("throughputBuckets")
	for i, k := range s.Buckets {
		if k.Percent == 0 {
			continue
		}
		b.BeginDoc("")
		b.Int32("id", int32(i+1))
		b.Int32("maxThroughputPercentage", k.Percent)
		if k.AppName != "" {
			b.String("appName", k.AppName)
		}
		if k.RequestMax != 0 {
			b.Double("defaultMaxRequestUnits", ratelimit.MicroRU(k.RequestMax).Exact())
		}
		b.End()
	}
	b.End()
}
