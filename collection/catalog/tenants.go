package catalog

import "github.com/cantledb/cantle/bson"

// TenantsMax is the maximum number of tenants of a collection with limits of their own, and TenantBytesMax that of the
// bytes of a TenantValue.
const (
	TenantsMax     = 500
	TenantBytesMax = 1 << 10
)

// Tenants are the limits of tenants: of the values of the first fields of the shard key of a collection. Immutable.
type Tenants struct {
	Prefix []string // the fields; if the shard key does not begin with them, there are no limits
	TenantLimits
	Values []TenantValue
}

// TenantLimits are a guarantee and a ceiling, in millionths of the RU/s of each partition; 0 is none.
type TenantLimits struct{ Min, Max int64 }

// TenantValue is a value of the fields, with limits of its own. Value has the fields of the prefix by their paths.
type TenantValue struct {
	Value bson.Raw
	TenantLimits
}

// PrefixOf reports whether the shard key of a collection begins with the fields.
func (t *Tenants) PrefixOf(c *Collection) bool {
	fields := c.Key.Fields()
	for i, name := range t.Prefix {
		if i >= len(fields) || fields[i].Path.String() != name || fields[i].Buckets > 0 {
			return false
		}
	}
	return true
}

// held returns the bytes counted for the limits. t may be nil.
func (t *Tenants) held() (n int64) {
	if t == nil {
		return 0
	}
	for _, v := range t.Values {
		n += entryHeld/8 + int64(len(v.Value))*byteHeld
	}
	return n
}

func (t *Tenants) append(b *bson.Builder) {
	b.BeginDoc("tenants")
	b.BeginArray("prefix")
	for _, f := range t.Prefix {
		b.String("", f)
	}
	b.End()
	t.TenantLimits.append(b)
	b.BeginArray("values")
	for _, v := range t.Values {
		b.BeginDoc("")
		b.Raw("value", v.Value)
		v.TenantLimits.append(b)
		b.End()
	}
	b.End()
	b.End()
}

func (l TenantLimits) append(b *bson.Builder) {
	b.Int64("min", l.Min)
	b.Int64("max", l.Max)
}

// decodeTenants decodes the limits of tenants in the switches d; nil if there are none.
func decodeTenants(d bson.Raw) *Tenants {
	d, ok := d.Get("tenants").Doc()
	if !ok {
		return nil
	}
	limits := func(d bson.Raw) TenantLimits { return TenantLimits{number(d, "min"), number(d, "max")} }
	t := &Tenants{TenantLimits: limits(d)}
	list, _ := d.Get("prefix").Array()
	for v := range list.Values() {
		f, _ := v.Str()
		t.Prefix = append(t.Prefix, f)
	}
	list, _ = d.Get("values").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		value, _ := d.Get("value").Doc()
		t.Values = append(t.Values, TenantValue{value.Clone(), limits(d)})
	}
	return t
}
