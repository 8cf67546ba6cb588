package schema

import (
	"strconv"

	"github.com/cantledb/cantle/wire/command"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
)

// How much of what stands against a unique index is told.
const (
	violationsMax      = 1000 // groups, and documents of one
	violationsBytesMax = 8 << 20
)

// violations lists the documents that keep an index from becoming unique, as the
// element violations: [{ids: [...]}, ...] of an error: a group for values that
// several documents have, its documents in the order of their _id. It is advice:
// values below arrays of arrays, and array elements named by position, are left out.
// Manual: core/index-unique/convert-to-unique.
func violations(c *command.Call, ns collection.Namespace, ix *catalog.Index) ([]byte, error) {
	simple, collation := c.Env().SimpleCollation, c.Env().Collation
	c.Env().Collation, c.Env().SimpleCollation = ix.Collation, ix.Collation == nil
	defer func() { c.Env().Collation, c.Env().SimpleCollation = collation, simple }()
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(violationStages(ix)), bson.Value{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	b := bson.NewBuilder(nil)
	b.BeginArray("violations")
	for size := 0; size < violationsBytesMax; {
		row, err := s.Next(c.Env())
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		if size += len(row.Doc); size < violationsBytesMax {
			b.Value("", row.Doc.Value())
		}
	}
	b.End()
	return b.Doc().Elements(), nil
}

// violationStages finds the values that several documents have in an index: one
// row for each value of each document, grouped by document, then by value.
func violationStages(ix *catalog.Index) []bson.Raw {
	var stages []bson.Raw
	stage := func(fill func(b *bson.Builder)) {
		b := bson.NewBuilder(nil)
		fill(b)
		stages = append(stages, b.Doc())
	}
	part := func(i int) string { return "k" + strconv.Itoa(i) }
	if len(ix.PartialFilter) > 0 {
		stage(func(b *bson.Builder) { b.Raw("$match", ix.PartialFilter) })
	}
	if ix.Sparse {
		stage(func(b *bson.Builder) {
			b.BeginDoc("$match")
			b.BeginArray("$or")
			for _, p := range ix.Parts {
				b.BeginDoc("")
				b.BeginDoc(p.Name)
				b.Bool("$exists", true)
				b.End()
				b.End()
			}
			b.End()
			b.End()
		})
	}
	stage(func(b *bson.Builder) {
		b.BeginDoc("$project")
		for i, p := range ix.Parts {
			b.String(part(i), "$"+p.Name)
		}
		b.End()
	})
	for i := range ix.Parts {
		stage(func(b *bson.Builder) {
			b.BeginDoc("$unwind")
			b.String("path", "$"+part(i))
			b.Bool("preserveNullAndEmptyArrays", true)
			b.End()
		})
	}
	stage(func(b *bson.Builder) {
		b.BeginDoc("$group")
		b.BeginDoc("_id")
		b.BeginDoc("values")
		for i := range ix.Parts {
			b.BeginArray(part(i)) // in an array a missing value is null, as in an index
			b.String("", "$"+part(i))
			b.End()
		}
		b.End()
		b.String("id", "$_id")
		b.End()
		b.End()
	})
	one := func(name, field string, v int32) {
		stage(func(b *bson.Builder) {
			b.BeginDoc(name)
			b.Int32(field, v)
			b.End()
		})
	}
	one("$sort", "_id.id", 1)
	stage(func(b *bson.Builder) {
		b.BeginDoc("$group")
		b.String("_id", "$_id.values")
		b.BeginDoc("ids")
		b.BeginDoc("$firstN")
		b.Int32("n", violationsMax)
		b.String("input", "$_id.id")
		b.End()
		b.End()
		b.End()
	})
	stage(func(b *bson.Builder) {
		b.BeginDoc("$match")
		b.BeginDoc("ids.1")
		b.Bool("$exists", true)
		b.End()
		b.End()
	})
	one("$sort", "_id", 1)
	stage(func(b *bson.Builder) { b.Int32("$limit", violationsMax) })
	stage(func(b *bson.Builder) {
		b.BeginDoc("$project")
		b.Bool("_id", false)
		b.Bool("ids", true)
		b.End()
	})
	return stages
}
