package agg

import (
	"maps"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// fieldSet is the set of paths of its input documents that a pipeline reads; with all, whole documents.
type fieldSet struct {
	all   bool
	paths map[string]struct{}
}

func (f *fieldSet) add(p string) {
	if p == "" {
		f.all = true
	}
	f.paths[p] = struct{}{}
}

// reads returns the fields of the input documents that the pipeline needs to compute its output.
func (p *Pipeline) reads() *fieldSet {
	if p.fields != nil {
		return p.fields
	}
	f := &fieldSet{paths: map[string]struct{}{}}
	for _, s := range p.stages {
		if s.Reads(f.add) {
			return f
		}
	}
	f.all = true
	return f
}

// projection returns an inclusion projection of the fields in the set, with which the planner reads only these;
// nil if whole documents are needed or a path cannot be projected.
func (f *fieldSet) projection() bson.Raw {
	if f.all {
		return nil
	}
	paths := slices.Sorted(maps.Keys(f.paths))
	if len(paths) == 0 {
		paths = []string{"_id"} // an inclusion projection must have a field
	}
	b := bson.NewBuilder(nil)
	id := false
	var last []path.Path
next:
	for _, s := range paths {
		p, err := path.Compile(s)
		if err != nil {
			return nil
		}
		for _, q := range last {
			if p.HasPrefix(q) {
				continue next
			}
		}
		for i := range p.Len() {
			if p.Component(i).Index >= 0 || p.Name(i) == "" || p.Name(i)[0] == '$' {
				return nil
			}
		}
		last = append(last, p)
		if p.First() == "_id" {
			id = true
		}
		b.Int32(s, 1)
	}
	if !id {
		b.Int32("_id", 0)
	}
	return b.Doc()
}
