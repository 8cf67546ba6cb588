package command

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/cluster"
)

// shape is a hash of what the planner looks at: the operators and paths of the
// filter without its values, sort, projection and collation. Commands of one
// shape get the same plan.
// Manual: core/query-plans#plan-cache-query-shape.
func (r *report) shape() string {
	b := bson.NewBuilder(nil)
	b.BeginDoc("filter")
	appendShape(b, cluster.ParsedQuery(&r.c.Op, r.filter()))
	b.End()
	if !r.x.find.Sort.IsEmpty() {
		b.Raw("sort", r.x.find.Sort)
	}
	if !r.x.find.Projection.IsEmpty() {
		b.Raw("projection", r.x.find.Projection)
	}
	if env := r.c.Env(); env.Collation != nil {
		env.Collation.Append(b, "collation")
	}
	if r.x.piped && len(r.x.stages) > 1 {
		b.BeginArray("stages")
		for _, s := range r.x.stages[1:] {
			if f, ok := s.First(); ok && shapesPlan(string(f.Name)) {
				b.Raw("", s)
			}
		}
		b.End()
	}
	sum := sha256.Sum256(b.Doc())
	return strings.ToUpper(hex.EncodeToString(sum[:4]))
}

// shapesPlan reports stages that can become part of the query.
func shapesPlan(name string) bool {
	switch name {
	case "$sort", "$project", "$group", "$lookup", "$match":
		return true
	}
	return false
}

// appendShape prints a filter with every value replaced by "?".
func appendShape(b *bson.Builder, d bson.Raw) {
	for it := d.Iter(); it.Next(); {
		if inner, ok := it.Value.Doc(); ok && !inner.IsEmpty() {
			b.BeginDocBytes(it.Name)
			appendShape(b, inner)
			b.End()
			continue
		}
		if list, ok := it.Value.Array(); ok && strings.HasPrefix(string(it.Name), "$") && (string(it.Name) == "$and" || string(it.Name) == "$or" || string(it.Name) == "$nor") {
			b.BeginArrayBytes(it.Name)
			for v := range list.Values() {
				b.BeginDoc("")
				inner, _ := v.Doc()
				appendShape(b, inner)
				b.End()
			}
			b.End()
			continue
		}
		b.StringBytes(string(it.Name), []byte("?"))
	}
}
