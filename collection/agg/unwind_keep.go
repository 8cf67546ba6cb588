package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
)

// keptFields is a set of fields of documents, as a tree of names.
type keptFields struct {
	below map[string]*keptFields // nil: the whole value
}

// keepBeforeUnwind returns the stages in which each $unwind copies only the fields that it and the stages behind it
// read. Without this, a document with several large arrays is copied once per element, which is quadratic work.
// Manual: core/aggregation-pipeline-optimization#projection-optimization.
func keepBeforeUnwind(stages []Stage) []Stage {
	for i, s := range stages {
		u, ok := s.(*unwindStage)
		if !ok {
			continue
		}
		keep := keptOf((&Pipeline{stages: stages[i:]}).reads())
		if keep == nil {
			continue
		}
		with := *u
		with.keep = keep
		stages = splice(stages, i, 1, &with)
	}
	return stages
}

// keptOf returns the tree of a set of paths; nil for whole documents.
func keptOf(f *fieldSet) *keptFields {
	if f.all {
		return nil
	}
	root := &keptFields{below: map[string]*keptFields{}}
	for p := range f.paths {
		at := root
		names := strings.Split(p, ".")
		for i, name := range names {
			next := at.below[name]
			switch {
			case next == nil && i < len(names)-1:
				next = &keptFields{below: map[string]*keptFields{}}
			case next == nil:
				next = &keptFields{}
			case i == len(names)-1:
				next.below = nil
			}
			at.below[name] = next
			if at = next; at.below == nil {
				break
			}
		}
	}
	return root
}

// appendFrom appends the kept fields of doc to the open document. Of an embedded document, only kept fields are
// copied; any other value on a path is copied whole, because an array can be followed in several ways.
func (k *keptFields) appendFrom(b *bson.Builder, doc bson.Raw) {
	for it := doc.Iter(); it.Next(); {
		in := k.below[string(it.Name)]
		if in == nil {
			continue
		}
		sub, ok := it.Value.Doc()
		if !ok || in.below == nil {
			b.ValueBytes(it.Name, it.Value)
			continue
		}
		b.BeginDocBytes(it.Name)
		in.appendFrom(b, sub)
		b.End()
	}
}
