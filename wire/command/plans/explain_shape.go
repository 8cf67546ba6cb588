package plans

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// A shape is a command without its values. It is identified by a hash, with which logs and explain group commands
// that are the same query with different values.
//
// The plan cache shape (planCacheShapeHash) consists of everything that influences the planner: the filter in any
// order, the sort, projection, collation and some stages. The query shape (queryShapeHash) is the command as the
// client wrote it.
// Manual: core/query-plans#plan-cache-query-shape.

// planShape returns the plan cache shape of a command.
func planShape(c *command.Call, x *explained.Explained) bson.Raw {
	b := bson.NewBuilder(nil)
	if f, err := match.Parse(c.Env(), filterOf(x)); err == nil {
		if f, err = match.NormalizeInterruptible(c.Env(), f); err == nil {
			b.Raw("filter", shaper{env: c.Env(), plan: true, filter: true}.doc(match.String(f)))
		}
	}
	if !x.Find.Sort.IsEmpty() {
		b.Raw("sort", x.Find.Sort)
	}
	if p := x.Find.Projection; !p.IsEmpty() {
		b.Raw("projection", sortedFields(p))
	}
	if env := c.Env(); env.Collation != nil {
		env.Collation.Append(b, "collation")
	}
	if x.Pipeline != nil {
		for _, s := range x.Pipeline.Stages {
			f, _ := s.First()
			if def := agg.FindStage(string(f.Name)); def != nil && def.ShapesPlan {
				b.Raw("stage", shaper{env: c.Env()}.stage(s))
			}
		}
	}
	return b.Doc()
}

// planShapeHash returns the hash of a plan cache shape, as explain shows it.
func planShapeHash(shape bson.Raw) string { return shapeHash(shape)[:8] }

// queryShape returns the query shape of a command, as the stage $querySettings shows it: the command with
// placeholders for its values.
// Manual: core/query-shapes. Errors: errors of parsing the filter, the reason why the command must end.
func queryShape(c *command.Call, x *explained.Explained) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	b.BeginDoc("cmdNs")
	b.String("db", x.Ns.DB)
	b.String("coll", x.Ns.Coll)
	b.End()
	b.String("command", c.Name())
	if len(x.Keys) > 0 { // a distinct
		b.String("key", x.Keys[0])
	}
	if !x.Find.Filter.IsEmpty() {
		f, err := match.Parse(c.Env(), x.Find.Filter)
		if err != nil {
			return nil, err
		}
		field := "filter"
		if len(x.Keys) > 0 || x.Stage == countStage {
			field = "query"
		}
		b.Raw(field, shaper{env: c.Env(), filter: true}.doc(match.String(f)))
	}
	if !x.Find.Sort.IsEmpty() {
		b.Raw("sort", x.Find.Sort)
	}
	if !x.Find.Projection.IsEmpty() {
		b.Raw("projection", shaper{env: c.Env()}.projection(x.Find.Projection))
	}
	if x.Find.Limit > 0 {
		b.String("limit", "?number")
	}
	if x.Find.Skip > 0 || x.Skipped > 0 {
		b.String("skip", "?number")
	}
	if env := c.Env(); env.Collation != nil {
		env.Collation.Append(b, "collation")
	}
	if x.Pipeline != nil {
		b.BeginArray("pipeline")
		for _, s := range x.Pipeline.Stages {
			b.Raw("", shaper{env: c.Env()}.stage(s))
		}
		b.End()
	}
	return b.Doc(), c.Env().Interrupted() // after an interrupt the shape is incomplete
}

// shapeHash returns the hash of a query's shape.
func shapeHash(shape bson.Raw) string {
	sum := sha256.Sum256(shape)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// sortedFields returns a document with its fields sorted by name.
func sortedFields(d bson.Raw) bson.Raw {
	var fields []bson.Field
	for it := d.Iter(); it.Next(); {
		fields = append(fields, bson.Field{Name: it.Name, Value: it.Value})
	}
	slices.SortStableFunc(fields, func(a, b bson.Field) int { return bytes.Compare(a.Name, b.Name) })
	b := bson.NewBuilder(nil)
	for _, f := range fields {
		b.ValueBytes(f.Name, f.Value)
	}
	return b.Doc()
}

// shaper removes the values from filters, expressions and stages.
type shaper struct {
	env    *mql.Env
	plan   bool // for the plan's shape
	filter bool // within a filter, where a string that begins with $ is a value; elsewhere it is a path
}

// countStage is the Stage of a count that is explained.
const countStage = "COUNT"

// stage returns a stage of a pipeline without its values.
func (s shaper) stage(d bson.Raw) bson.Raw {
	f, ok := d.First()
	if !ok {
		return d
	}
	name, arg := string(f.Name), f.Value
	def := agg.FindStage(name)
	if def == nil || def.Filters {
		s.filter = def != nil
		return s.doc(d)
	}
	b := bson.NewBuilder(nil)
	args, isDoc := arg.Doc()
	switch {
	case arg.Type == bson.TypeString && slices.Contains(def.Names, ""):
		b.Value(name, arg)
	case arg.Type == bson.TypeDocument && isDoc && (def.Names != nil || def.SameInput):
		b.BeginDoc(name)
		for it := args.Iter(); it.Next(); {
			field := string(it.Name)
			list, isList := it.Value.Array()
			switch {
			case it.Value.Type == bson.TypeString && slices.Contains(def.Names, field):
				b.ValueBytes(it.Name, it.Value)
			case isList && (field == "pipeline" || def.SameInput):
				b.BeginArrayBytes(it.Name)
				for v := range list.Values() {
					if inner, ok := v.Doc(); ok && s.env.Tick() == nil {
						b.Raw("", s.stage(inner))
					}
				}
				b.End()
			default:
				b.ValueBytes(it.Name, s.value(field, it.Value))
			}
		}
		b.End()
	default:
		return s.doc(d)
	}
	return b.Doc()
}

// doc returns a document without its values.
func (s shaper) doc(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		b.ValueBytes(it.Name, s.value(string(it.Name), it.Value))
	}
	out := b.Doc()
	if s.plan {
		return sortedFields(out)
	}
	return out
}

// value returns the placeholder for a value in a shape, such as "?number". name is the operator or path of the value.
// Paths and some operators, such as $exists, keep their value.
func (s shaper) value(name string, v bson.Value) bson.Value {
	switch name {
	case "$exists":
		return v
	case "$jsonSchema":
		if d, ok := v.Doc(); ok && !s.plan {
			return s.schema(d).Value()
		}
		return v
	case "$type":
		if !s.plan {
			return v
		}
		return mark("?")
	case "$expr":
		if s.plan {
			return mark("?")
		}
		s.filter = false
	case "$in", "$nin", "$mod":
		return mark("?array")
	case "$const", "$literal":
		return mark("?")
	}
	if d, ok := v.Doc(); ok {
		return s.doc(d).Value()
	}
	if list, ok := v.Array(); ok {
		if s.filter && !s.plan && !holdsFilters(list) {
			return mark("?array")
		}
		return s.list(name, list)
	}
	if text, ok := v.Str(); ok && !s.filter && strings.HasPrefix(text, "$") {
		return v // a path
	}
	if v.IsNumber() && !s.plan {
		return mark("?number") // drivers choose the type by the value
	}
	return mark("?" + v.Type.String())
}

// holdsFilters reports whether an array in a filter has operators or filters in place of values.
func holdsFilters(list bson.Raw) bool {
	for v := range list.Values() {
		if v.Type == bson.TypeDocument {
			return true
		}
	}
	return list.IsEmpty()
}

// list returns an array with placeholders for its values. For the plan cache shape, the branches of the logical
// operator name are sorted, because their order does not matter to the planner.
func (s shaper) list(name string, list bson.Raw) bson.Value {
	var parts []bson.Value
	for v := range list.Values() {
		if s.env.Tick() != nil || s.env.Interrupted() != nil {
			break // the command must end
		}
		parts = append(parts, s.value("", v))
	}
	if s.plan && (name == "$and" || name == "$or" || name == "$nor") {
		slices.SortFunc(parts, func(a, b bson.Value) int { return bytes.Compare(a.Data, b.Data) })
	}
	b := bson.NewArrayBuilder(nil)
	for _, v := range parts {
		b.Value("", v)
	}
	return b.Doc().ArrayValue()
}

// mark returns a string value that serves as a placeholder.
func mark(s string) bson.Value {
	b := bson.NewBuilder(nil)
	b.String("v", s)
	return b.Doc().Get("v")
}
