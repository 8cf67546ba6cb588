package shards

import (
	"fmt"
	"testing"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
)

// BenchmarkReport measures the selection and the order of the shapes of a full table.
func BenchmarkReport(b *testing.B) {
	s := &State{}
	for i := range shapeParts {
		p := &s.shapes.parts[i]
		p.by = map[string]*shape{}
		for j := range shapesMax {
			name := fmt.Sprintf("{f%d_%d: ?}", i, j)
			p.by[name] = &shape{ns: collection.Namespace{DB: "test", Coll: "c"}, command: "find", filter: name, charge: ratelimit.MicroRU((i*7919 + j*104729) % 10007)}
		}
	}
	for b.Loop() {
		if r := s.localReport(&reportFilter{}); r.shapes != shapeParts*shapesMax {
			b.Fatal(r.shapes)
		}
	}
}
