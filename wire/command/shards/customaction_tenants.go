package shards

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// tenantsArg reads the argument tenants, {shardKeyPrefix: ["tenant"], minThroughputPercentage: 1,
// maxThroughputPercentage: 20, values: [{value: {tenant: "large"}, maxThroughputPercentage: 60}]}: the limits of the
// values of the first fields of the shard key, which replace the existing ones. {} removes them. Azure Cosmos DB does
// not have the argument; the words are those of its throughput buckets.
// Errors: BadValue (2), TypeMismatch (14).
func tenantsArg(c *command.Call, s *catalog.Switches, name string, v bson.Value) error {
	d, err := c.DocArg(name, v)
	if err != nil {
		return err
	}
	t := &catalog.Tenants{}
	s.Tenants = t
	if d.IsEmpty() {
		return nil
	}
	var values []bson.Raw
	err = c.ReadFields(name, d, append(limitFields(c, name, &t.TenantLimits),
		arguments.By("shardKeyPrefix", func(v bson.Value) (err error) {
			t.Prefix, err = prefixArg(c, name+".shardKeyPrefix", v)
			return err
		}).WithNull().Required(),
		arguments.Docs("values", &values, catalog.TenantsMax),
	)...)
	if err != nil {
		return err
	}
	if err := checkLimits(name, t.TenantLimits); err != nil {
		return err
	}
	sum, seen := int64(0), map[string]bool{}
	for _, d := range values {
		x, key, err := tenantArg(c, name+".values", t.Prefix, d)
		switch {
		case err != nil:
			return err
		case seen[key]:
			return mongoerr.New(mongoerr.BadValue, "the tenant %s is given twice", x.Value)
		}
		seen[key] = true
		t.Values = append(t.Values, x)
		sum += x.Min
	}
	if sum > ratelimit.TenantWhole {
		return mongoerr.New(mongoerr.BadValue, "the guarantees (minThroughputPercentage) of the named tenants add up to more than 100 percent")
	}
	return nil
}

// limitFields returns the rows of the fields for the limits of a tenant.
func limitFields(c *command.Call, name string, l *catalog.TenantLimits) []arguments.Arg {
	return []arguments.Arg{percentArg(c, name, "minThroughputPercentage", &l.Min), percentArg(c, name, "maxThroughputPercentage", &l.Max)}
}

// percentArg reads a percentage of the RU/s of a partition, which may have a fraction.
func percentArg(c *command.Call, name, field string, to *int64) arguments.Arg {
	return arguments.By(field, func(v bson.Value) error {
		if !v.IsNumber() {
			return mongoerr.WrongType(c.Field(name+"."+field), v.Type.String(), "int", "long", "double", "decimal")
		}
		percent, _ := v.AsFloat()
		*to = int64(math.Round(percent * (ratelimit.TenantWhole / 100)))
		if !(percent <= 100) || *to < 1 {
			return mongoerr.New(mongoerr.BadValue, "%s.%s must be between 0.0001 and 100, got %s", name, field, v)
		}
		return nil
	})
}

// checkLimits returns an error if a tenant has no limit, or a ceiling below its guarantee.
func checkLimits(name string, l catalog.TenantLimits) error {
	if l.Max > 0 && l.Max < l.Min {
		return mongoerr.New(mongoerr.BadValue, "%s: maxThroughputPercentage is less than minThroughputPercentage", name)
	}
	return nil
}

// prefixArg reads the names of the first fields of the shard key.
func prefixArg(c *command.Call, name string, v bson.Value) (fields []string, err error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(name), v.Type.String(), "array")
	}
	for v := range list.Values() {
		f, ok := v.Str()
		if !ok {
			return nil, mongoerr.WrongType(c.Field(name), v.Type.String(), "string")
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "%s must have at least one field", name)
	}
	return fields, nil
}

// tenantArg reads a value with limits of its own. key identifies the value.
func tenantArg(c *command.Call, name string, prefix []string, d bson.Raw) (x catalog.TenantValue, key string, err error) {
	var value bson.Raw
	err = c.ReadFields(name, d, append(limitFields(c, name, &x.TenantLimits), arguments.Doc("value", &value).Required())...)
	if err != nil {
		return x, "", err
	}
	if x.TenantLimits == (catalog.TenantLimits{}) {
		return x, "", mongoerr.New(mongoerr.BadValue, "%s: the tenant %s has neither minThroughputPercentage nor maxThroughputPercentage", name, value)
	}
	if err := checkLimits(name, x.TenantLimits); err != nil {
		return x, "", err
	}
	var encoded []byte
	b := bson.NewBuilder(nil)
	for _, f := range prefix {
		v := value.Get(f)
		if v.IsMissing() || v.Type == bson.TypeArray || v.Type == bson.TypeRegex || v.Type == bson.TypeUndefined {
			return x, "", mongoerr.New(mongoerr.BadValue, "%s: value must have the fields of shardKeyPrefix, each with a value that a shard key can have: %s", name, value)
		}
		encoded = keystring.Append(encoded, v, keystring.Ascending, nil, nil)
		b.Value(f, v)
	}
	if x.Value = b.Doc(); value.Len() != len(prefix) || len(x.Value) > catalog.TenantBytesMax {
		return x, "", mongoerr.New(mongoerr.BadValue, "%s: value must have only the fields of shardKeyPrefix, and at most %d bytes: %.200s", name, catalog.TenantBytesMax, value)
	}
	return x, string(encoded), nil
}

// checkTenants returns an error unless a collection, as it will be, may have limits for tenants: its shard key begins with
// their fields, and it has RU/s of its own, of which the limits are parts.
func checkTenants(coll *catalog.Collection, t *catalog.Tenants) error {
	switch {
	case t == nil || len(t.Prefix) == 0:
	case !t.PrefixOf(coll):
		return mongoerr.New(mongoerr.BadValue, "tenants.shardKeyPrefix must be the first fields of the shard key")
	case coll.Throughput.Mode == catalog.ThroughputNone:
		return mongoerr.New(mongoerr.BadValue, "tenants need a collection with RU/s of its own: their limits are parts of them")
	}
	return nil
}

// appendTenants appends the limits of tenants in the form of the argument; nothing if there are none. The names of tenants are
// values of documents: without values they are left out.
func appendTenants(b *bson.Builder, t *catalog.Tenants, values bool) {
	if t == nil {
		return
	}
	b.BeginDoc("tenants")
	b.BeginArray("shardKeyPrefix")
	for _, f := range t.Prefix {
		b.String("", f)
	}
	b.End()
	appendTenantLimits(b, t.TenantLimits)
	if len(t.Values) > 0 {
		b.BeginArray("values")
		for _, v := range t.Values {
			b.BeginDoc("")
			if values {
				b.Raw("value", v.Value)
			}
			appendTenantLimits(b, v.TenantLimits)
			b.End()
		}
		b.End()
	}
	b.End()
}

func appendTenantLimits(b *bson.Builder, l catalog.TenantLimits) {
	for _, x := range [...]struct {
		name string
		part int64
	}{{"minThroughputPercentage", l.Min}, {"maxThroughputPercentage", l.Max}} {
		if x.part > 0 {
			b.Double(x.name, float64(x.part)/(ratelimit.TenantWhole/100))
		}
	}
}
