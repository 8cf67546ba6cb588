package index

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// SphereOptions are the options of a 2dsphere index.
type SphereOptions struct{ Version int32 }

func (o *SphereOptions) equal(p *SphereOptions) bool {
	if o == nil || p == nil {
		return o == p
	}
	return *o == *p
}

// kind2dsphere has an entry for every cell that covers a geometry.
// Manual: core/indexes/index-types/geospatial/2dsphere.
var kind2dsphere = Kind{
	Name:  "2dsphere",
	Doc:   "core/indexes/index-types/geospatial/2dsphere",
	check: check2dsphere,
	print: func(s *Spec, b *bson.Builder) { b.Int32("2dsphereIndexVersion", s.Sphere.Version) },
	keys:  func(*generator) error { return mongoerr.NotImplementedYet("a 2dsphere index") },
}

func check2dsphere(p *parser) error {
	p.s.Sphere = &SphereOptions{Version: 3}
	v := p.sphereVersion
	if v.Type == bson.TypeMissing {
		return nil
	}
	n, _ := v.AsInt64()
	if v.Type == bson.TypeDecimal128 || n < 1 || n > 3 {
		return cannot("unsupported geo index version { 2dsphereIndexVersion : %s }, only support versions: [1,2,3]", v)
	}
	p.s.Sphere.Version = int32(n)
	return nil
}
