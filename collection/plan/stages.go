package plan

import "github.com/cantledb/cantle/bson"

// Stages returns the stages of an equivalent pipeline.
func (f Find) Stages() []bson.Raw {
	var out []bson.Raw
	stage := func(fill func(b *bson.Builder)) {
		b := bson.NewBuilder(nil)
		fill(b)
		out = append(out, b.Doc())
	}
	if !f.Filter.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$match", f.Filter) })
	}
	if natural := f.Sort.Get("$natural"); f.Sort.Len() == 1 && natural.IsNumber() {
		// Among collections that are read as pipelines, only the change log has a natural order: the order of
		// its field ts.
		if n, _ := natural.AsInt64(); n < 0 {
			stage(func(b *bson.Builder) {
				b.BeginDoc("$sort")
				b.Int32("ts", -1)
				b.End()
			})
		}
	} else if !f.Sort.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$sort", f.Sort) })
	}
	if f.Skip > 0 {
		stage(func(b *bson.Builder) { b.Int64("$skip", f.Skip) })
	}
	if f.Limit > 0 {
		stage(func(b *bson.Builder) { b.Int64("$limit", f.Limit) })
	}
	if !f.Projection.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$project", f.Projection) })
	}
	return out
}
