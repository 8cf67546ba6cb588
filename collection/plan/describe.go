package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
)

// Append prints a plan tree as explain's winningPlan: stage, own fields, inputs.
func Append(b *bson.Builder, n Node) {
	switch x := n.(type) { // MongoDB has no such stages
	case *SortKey:
		Append(b, x.Input)
		return
	case *TimeSort:
		if x.IsPlain() {
			Append(b, x.Input)
			return
		}
	case *Project:
		if x.IsExpress() {
			Append(b, x.Input)
			return
		}
	}
	b.String("stage", n.Stage())
	n.Describe(b)
	ins := n.Inputs()
	switch len(ins) {
	case 0:
	case 1:
		b.BeginDoc("inputStage")
		Append(b, ins[0])
		b.End()
	default:
		b.BeginArray("inputStages")
		for _, in := range ins {
			if IsTooLong(b) {
				break
			}
			b.BeginDoc("")
			Append(b, in)
			b.End()
		}
		b.End()
	}
}

// IsTooLong reports whether a printed plan is already longer than any reply may be, so that printing
// more is useless.
func IsTooLong(b *bson.Builder) bool { return b.Len() > 4*bson.MaxDocumentBytes }

func appendFilter(b *bson.Builder, f match.Node) {
	if f != nil {
		b.Raw("filter", match.String(f))
	}
}

func direction(reverse bool) string {
	if reverse {
		return "backward"
	}
	return "forward"
}

// Describe implements Node.
func (n *PointRead) Describe(b *bson.Builder) {
	b.BeginDoc("keyPattern")
	b.Int32("_id", 1)
	b.End()
	b.String("indexName", "_id_")
	appendFilter(b, n.Filter)
}

// Describe implements Node.
func (n *RecordScan) Describe(b *bson.Builder) {
	if n.Count && n.ByID != nil {
		n.ByID.Describe(b)
		return
	}
	appendFilter(b, n.Filter)
	if n.ByID == nil {
		b.String("direction", direction(n.Reverse))
	}
	n.describeTimes(b)
}

// Describe implements Node.
func (n *IndexScan) Describe(b *bson.Builder) {
	appendFilter(b, n.Filter)
	describeIndex(b, n.Index)
	b.String("direction", direction(n.Reverse))
	n.describeBounds(b)
}

func describeIndex(b *bson.Builder, ix *catalog.Index) {
	b.BeginDoc("keyPattern")
	for _, f := range ix.Fields() {
		if v, ok := ix.Key.Lookup(f); ok {
			b.Value(f, v)
		} else {
			b.Int32(f, 1) // the path of a wildcard
		}
	}
	b.End()
	b.String("indexName", ix.Name)
	ix.Collation.Append(b, "collation")
	b.Bool("isMultiKey", ix.Multikey.Any())
	if ix.IsOrdered() || ix.Kind.Name == "wildcard" {
		b.BeginDoc("multiKeyPaths")
		ix.Multikey.AppendPaths(b, ix.Fields())
		b.End()
	}
	b.Bool("isUnique", ix.Unique)
	b.Bool("isSparse", ix.Sparse)
	b.Bool("isPartial", ix.Partial != nil)
	b.Int32("indexVersion", ix.Spec.Version)
}

func (n *IndexScan) describeBounds(b *bson.Builder) {
	b.BeginDoc("indexBounds")
	defer b.End()
	if n.Key != nil {
		if !n.Key.Min.IsEmpty() {
			b.Raw("startKey", n.Key.Min)
		}
		if !n.Key.Max.IsEmpty() {
			b.Raw("endKey", n.Key.Max)
		}
		return
	}
	for i, f := range n.Index.Fields() {
		b.BeginArray(f)
		bounds, d := n.Bounds[i], n.Index.Dirs()[i]
		for k := range bounds.Intervals {
			if n.Reverse {
				b.String("", turned(bounds.text(len(bounds.Intervals)-1-k, d)))
			} else {
				b.String("", bounds.text(k, d))
			}
		}
		b.End()
	}
}

// Describe implements Node.
func (n *TextOr) Describe(*bson.Builder) {}

// Describe implements Node.
func (n *TextMatch) Describe(b *bson.Builder) {
	appendFilter(b, n.Filter)
	b.BeginDoc("indexPrefix")
	b.End()
	b.String("indexName", n.Index.Name)
	b.BeginDoc("parsedTextQuery")
	list := func(name string, words []string) {
		b.BeginArray(name)
		for _, w := range words {
			b.String("", w)
		}
		b.End()
	}
	list("terms", n.Query.Terms)
	list("negatedTerms", n.Query.Negated)
	list("phrases", n.Query.Phrases)
	list("negatedPhrases", n.Query.NegatedPhrases)
	b.End()
	b.Int32("textIndexVersion", n.Index.Text.Version)
}

// Describe implements Node.
func (n *GeoNear) Describe(b *bson.Builder) {
	appendFilter(b, n.Filter)
	b.Raw("keyPattern", n.Index.Key)
	b.String("indexName", n.Index.Name)
	if n.Index.Sphere != nil {
		b.Int32("indexVersion", n.Index.Sphere.Version)
	}
}

// Describe implements Node.
func (n *ReturnKey) Describe(*bson.Builder) {}

// Describe implements Node.
func (n *RecordID) Describe(b *bson.Builder) {
	b.BeginDoc("transformBy")
	b.BeginDoc("$recordId")
	b.String("$meta", "recordId")
	b.End()
	b.End()
}

// Describe implements Node.
func (n *Fetch) Describe(b *bson.Builder) { appendFilter(b, n.Filter) }

// Describe implements Node.
func (n *Or) Describe(*bson.Builder) {}

// Describe implements Node.
func (n *And) Describe(*bson.Builder) {}

// Describe implements Node.
func (n *SortMerge) Describe(b *bson.Builder) { n.Pattern.Append(b, "sortPattern") }

// Describe implements Node.
func (n *Sort) Describe(b *bson.Builder) {
	n.Pattern.Append(b, "sortPattern")
	b.Int32("memLimit", 104857600)
	if n.Limit > 0 {
		b.Int("limitAmount", n.Limit)
	}
	b.String("type", "simple")
}

// Describe implements Node.
func (n *TimeSort) Describe(b *bson.Builder) {
	(&Sort{Pattern: n.Pattern}).Describe(b)
}

// Describe implements Node.
func (n *SortKey) Describe(*bson.Builder) {}

// Describe implements Node.
func (n *Skip) Describe(b *bson.Builder) { b.Int("skipAmount", n.N) }

// Describe implements Node.
func (n *Limit) Describe(b *bson.Builder) { b.Int("limitAmount", n.N) }

// Describe implements Node.
func (n *Project) Describe(b *bson.Builder) {
	b.BeginDoc("transformBy")
	n.Transform.Append(b)
	b.End()
}

// Describe implements Node.
func (n *EOF) Describe(*bson.Builder) {}
