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

// Bounds of the list of documents that prevent an index from becoming unique.
const (
	violationsMax      = 1000 // groups in the list, and documents in a group
	violationsBytesMax = 8 << 20
)

// uniqueViolations lists documents that prevent an index from becoming unique: for each key that several documents
// have, a group {ids: […]} with their _ids in ascending order. The groups are in ascending order of their keys.
type uniqueViolations struct{ groups []bson.Raw }

// refuse returns the error with the list.
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

// violations finds documents that prevent an index from becoming unique, because they have the same key in it. It
// returns at most violationsMax groups with together less than violationsBytesMax bytes. It does not find values
// below nested arrays, nor array elements addressed by position.
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

// violationStages returns pipeline stages that find the index keys that several documents have. The stages make one
// row for each key of each document, and then group the rows by key.
func violationStages(ix *catalog.Index) []bson.Raw {
	var p violationPipeline
	p.entries(ix)
	p.repeated()
	return p.stages
}

// violationPipeline is a pipeline under construction, to which each method appends stages.
type violationPipeline struct{ stages []bson.Raw }

// add appends a stage.
func (p *violationPipeline) add(fill func(b *bson.Builder)) {
	b := bson.NewBuilder(nil)
	fill(b)
	p.stages = append(p.stages, b.Doc())
}

// violationPart returns the field name that the pipeline uses for the i-th part of an index key: k0, k1 and so on.
func violationPart(i int) string { return "k" + strconv.Itoa(i) }

// entries appends stages that compute the keys that each document has in an index. The result has one row {_id:
// {values: {k0: [a], …}, id}} for each document and key; id is the _id of the document.
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
			b.BeginArray(violationPart(i)) // as an array element, a missing value becomes null, as in an index
			b.String("", "$"+violationPart(i))
			b.End()
		}
		b.End()
		b.String("id", "$_id")
		b.End()
		b.End()
	})
}

// repeated appends stages that group the rows of entries by key, and return a row {ids: […]} for each key of two or
// more documents: at most violationsMax keys in ascending order, each with its first violationsMax _ids in ascending
// order.
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
