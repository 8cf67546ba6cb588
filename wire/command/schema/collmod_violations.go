package schema

import (
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// How much of what stands against a unique index is told.
const (
	violationsMax      = 1000 // groups, and documents of one
	violationsBytesMax = 8 << 20
)

// uniqueViolations are the documents that keep an index from becoming unique: {ids: […]} for
// values that several documents have, its documents in the order of their _id.
type uniqueViolations struct{ groups []bson.Raw }

// refuse makes the error that lists them.
func (v uniqueViolations) refuse() error {
	b := bson.NewBuilder(nil)
	b.BeginArray("violations")
	for _, d := range v.groups {
		b.Raw("", d)
	}
	b.End()
	return mongoerr.New(mongoerr.CannotConvertIndexToUnique, "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.").
		WithFields(b.Doc().Elements())
}

// violations looks for the documents that keep an index from becoming unique. It is advice:
// values below arrays of arrays, and array elements named by position, are left out.
// Manual: core/index-unique/convert-to-unique.
func violations(c *command.Call, ns collection.Namespace, ix *catalog.Index) (out uniqueViolations, err error) {
	simple, collation := c.Env().SimpleCollation, c.Env().Collation
	c.Env().Collation, c.Env().SimpleCollation = ix.Collation, ix.Collation == nil
	defer func() { c.Env().Collation, c.Env().SimpleCollation = collation, simple }()
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(violationStages(ix)), bson.Value{})
	if err != nil {
		return out, err
	}
	defer s.Close()
	for size := 0; size < violationsBytesMax; {
		row, err := s.Next(c.Env())
		if err != nil || row == nil {
			return out, err
		}
		if size += len(row.Doc); size < violationsBytesMax {
			out.groups = append(out.groups, row.Doc.Clone())
		}
	}
	return out, nil
}

// violationStages finds the values that several documents have in an index: one
// row for each value of each document, grouped by document, then by value.
func violationStages(ix *catalog.Index) []bson.Raw {
	var p violationPipeline
	p.entries(ix)
	p.repeated()
	return p.stages
}

// violationPipeline is a pipeline being built.
type violationPipeline struct{ stages []bson.Raw }

// add appends a stage.
func (p *violationPipeline) add(fill func(b *bson.Builder)) {
	b := bson.NewBuilder(nil)
	fill(b)
	p.stages = append(p.stages, b.Doc())
}

// violationPart is the field with the i-th part of an index key.
func violationPart(i int) string { return "k" + strconv.Itoa(i) }

// entries makes of each document the keys that it has in an index, each once:
// {_id: {values: {k0: [a], …}, id}}.
func (p *violationPipeline) entries(ix *catalog.Index) {
	if len(ix.PartialFilter) > 0 {
		p.add(func(b *bson.Builder) { b.Raw("$match", ix.PartialFilter) })
	}
	if ix.Sparse {
		p.add(func(b *bson.Builder) {
			b.BeginDoc("$match")
			b.BeginArray("$or")
			for _, part := range ix.Parts {
				b.BeginDoc("")
				b.BeginDoc(part.Name)
				b.Bool("$exists", true)
				b.End()
				b.End()
			}
			b.End()
			b.End()
		})
	}
	p.add(func(b *bson.Builder) {
		b.BeginDoc("$project")
		for i, part := range ix.Parts {
			b.String(violationPart(i), "$"+part.Name)
		}
		b.End()
	})
	for i := range ix.Parts {
		p.add(func(b *bson.Builder) {
			b.BeginDoc("$unwind")
			b.String("path", "$"+violationPart(i))
			b.Bool("preserveNullAndEmptyArrays", true)
			b.End()
		})
	}
	p.add(func(b *bson.Builder) {
		b.BeginDoc("$group")
		b.BeginDoc("_id")
		b.BeginDoc("values")
		for i := range ix.Parts {
			b.BeginArray(violationPart(i)) // in an array a missing value is null, as in an index
			b.String("", "$"+violationPart(i))
			b.End()
		}
		b.End()
		b.String("id", "$_id")
		b.End()
		b.End()
	})
}

// repeated leaves the _ids of those documents that share a key: {ids: […]}.
func (p *violationPipeline) repeated() {
	one := func(name, field string, v int32) {
		p.add(func(b *bson.Builder) {
			b.BeginDoc(name)
			b.Int32(field, v)
			b.End()
		})
	}
	one("$sort", "_id.id", 1)
	p.add(func(b *bson.Builder) {
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
	p.add(func(b *bson.Builder) {
		b.BeginDoc("$match")
		b.BeginDoc("ids.1")
		b.Bool("$exists", true)
		b.End()
		b.End()
	})
	one("$sort", "_id", 1)
	p.add(func(b *bson.Builder) { b.Int32("$limit", violationsMax) })
	p.add(func(b *bson.Builder) {
		b.BeginDoc("$project")
		b.Bool("_id", false)
		b.Bool("ids", true)
		b.End()
	})
}
