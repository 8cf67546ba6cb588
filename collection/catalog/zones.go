package catalog

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/shard"
)

// Zone is a range of a collection's positions with shards of its own: a shard begins at the start of the zone, a
// shard ends at its end, and no shard crosses its bounds. Manual: core/zone-sharding.
type Zone struct {
	Name string
	shard.Range
}

// ZoneOf returns the zone that contains a shard; "" for none.
func (c *Collection) ZoneOf(d *shard.Descriptor) string {
	for _, z := range c.Zones {
		if bytes.Compare(z.Lo, d.Lo) <= 0 && (z.Hi == nil || d.Hi != nil && bytes.Compare(d.Hi, z.Hi) <= 0) {
			return z.Name
		}
	}
	return ""
}

// ZoneBounds returns the positions at which zones begin and end, ascending. Each must be a
// boundary between shards.
func (c *Collection) ZoneBounds() []shard.Position {
	var out []shard.Position
	for _, z := range c.Zones {
		for _, p := range [...]shard.Position{z.Lo, z.Hi} {
			if p != nil {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b shard.Position) int { return bytes.Compare(a, b) })
	return slices.CompactFunc(out, func(a, b shard.Position) bool { return bytes.Equal(a, b) })
}

// appendZones writes zones as [{zone, lo: binData, hi: binData}]; a bound that is the first or last position of all
// is left out.
func appendZones(b *bson.Builder, zones []Zone) {
	if len(zones) == 0 {
		return
	}
	b.BeginArray("zones")
	for _, z := range zones {
		b.BeginDoc("")
		b.String("zone", z.Name)
		if z.Lo != nil {
			b.Binary("lo", 0, z.Lo)
		}
		if z.Hi != nil {
			b.Binary("hi", 0, z.Hi)
		}
		b.End()
	}
	b.End()
}

func decodeZones(r bson.Raw) (out []Zone) {
	list, _ := r.Get("zones").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		z := Zone{Name: text(d, "zone")}
		if _, lo, ok := d.Get("lo").Binary(); ok {
			z.Lo = bytes.Clone(lo)
		}
		if _, hi, ok := d.Get("hi").Binary(); ok {
			z.Hi = bytes.Clone(hi)
		}
		out = append(out, z)
	}
	return out
}
