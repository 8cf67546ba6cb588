package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
)

// Append prints a plan tree as explain's winningPlan: stage, own fields, inputs.
func Append(b *bson.Builder, n Node) {
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
			b.BeginDoc("")
			Append(b, in)
			b.End()
		}
		b.End()
	}
}

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

// Describe see Node.
func (n *PointRead) Describe(b *bson.Builder) {
	b.BeginDoc("keyPattern")
	b.Int32("_id", 1)
	b.End()
	b.String("indexName", "_id_")
}

// Describe see Node.
func (n *RecordScan) Describe(b *bson.Builder) {
	appendFilter(b, n.Filter)
	if n.ByID == nil {
		b.String("direction", direction(n.Reverse))
	}
}

// Describe see Node.
func (n *IndexScan) Describe(b *bson.Builder) {
	ix := n.Index
	appendFilter(b, n.Filter)
	b.Raw("keyPattern", ix.Key)
	b.String("indexName", ix.Name)
	ix.Collation.Append(b, "collation")
	b.Bool("isMultiKey", ix.Multikey.Any())
	b.BeginDoc("multiKeyPaths")
	ix.Multikey.AppendPaths(b, ix.Fields())
	b.End()
	b.Bool("isUnique", ix.Unique)
	b.Bool("isSparse", ix.Sparse)
	b.Bool("isPartial", ix.Partial != nil)
	b.Int32("indexVersion", 2)
	b.String("direction", direction(n.Reverse))
	b.BeginDoc("indexBounds")
	for i, f := range ix.Fields() {
		b.BeginArray(f)
		text := n.Bounds[i].Text
		for k := range text {
			if n.Reverse {
				b.String("", text[len(text)-1-k])
			} else {
				b.String("", text[k])
			}
		}
		b.End()
	}
	b.End()
}

// Describe see Node.
func (n *Fetch) Describe(b *bson.Builder) { appendFilter(b, n.Filter) }

// Describe see Node.
func (n *Or) Describe(*bson.Builder) {}

// Describe see Node.
func (n *And) Describe(*bson.Builder) {}

// Describe see Node.
func (n *SortMerge) Describe(b *bson.Builder) { n.Pattern.Append(b, "sortPattern") }

// Describe see Node.
func (n *Sort) Describe(b *bson.Builder) {
	n.Pattern.Append(b, "sortPattern")
	b.Int32("memLimit", 104857600)
	if n.Limit > 0 {
		b.Int("limitAmount", n.Limit)
	}
	b.String("type", "simple")
}

// Describe see Node.
func (n *SortKey) Describe(*bson.Builder) {}

// Describe see Node.
func (n *Skip) Describe(b *bson.Builder) { b.Int("skipAmount", n.N) }

// Describe see Node.
func (n *Limit) Describe(b *bson.Builder) { b.Int("limitAmount", n.N) }

// Describe see Node.
func (n *Project) Describe(b *bson.Builder) {
	b.BeginDoc("transformBy")
	n.Transform.Append(b)
	b.End()
}

// Describe see Node.
func (n *EOF) Describe(*bson.Builder) {}
