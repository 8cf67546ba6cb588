package index

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// FlatOptions are the options of a 2d index.
type FlatOptions struct {
	Bits     int32
	Min, Max float64
}

func (o *FlatOptions) equal(p *FlatOptions) bool {
	if o == nil || p == nil {
		return o == p
	}
	return *o == *p
}

// kind2d has an entry of the geohash of every legacy coordinate pair.
// Manual: core/indexes/index-types/geospatial/2d.
var kind2d = Kind{
	Name:  "2d",
	Doc:   "core/indexes/index-types/geospatial/2d",
	check: check2d,
	keys:  func(*generator) error { return mongoerr.NotImplementedYet("a 2d index") },
}

func check2d(p *parser) error {
	o := &FlatOptions{Bits: 26, Min: -180, Max: 180}
	p.s.Flat = o
	if v := p.bits; v.Type != bson.TypeMissing {
		n, _ := v.TruncInt64()
		if v.Type == bson.TypeDecimal128 || n < 1 || n > 32 {
			return mongoerr.New(mongoerr.InvalidOptions, "bits for hash must be > 0 and <= 32, but %s bits were specified", v)
		}
		o.Bits = int32(n)
	}
	if p.min.Type != bson.TypeMissing {
		o.Min, _ = p.min.AsFloat()
	}
	if p.max.Type != bson.TypeMissing {
		o.Max, _ = p.max.AsFloat()
	}
	if !(o.Min < o.Max) {
		return mongoerr.New(mongoerr.InvalidOptions, "region for hash must be valid and have positive area, but [%v, %v] was specified", o.Min, o.Max)
	}
	if p.s.Parts[0].Plugin != "2d" {
		return cannot("2d has to be first in index")
	}
	return nil
}
