package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

var stageGroup = StageDef{Name: "$group", OwnFields: true, NotOwn: "_id", Parse: parseGroup, Constraints: Constraints{Blocking: true}, ShapesPlan: true, InPlan: "GROUP",
	Doc: "reference/operator/aggregation/group"}

// groupMode is the kind of input and output of a $group.
type groupMode uint8

const (
	groupWhole   groupMode = iota // documents to results
	groupPartial                  // documents to partials, in a shard
	groupMerge                    // partials to results
)

// groupStage is $group. In a shard, it delivers a document {_id: key, field: partial, …} for each group.
type groupStage struct {
	id expr.Expr
	// lone is {field: null} if the _id is an object of one field, otherwise missing. MongoDB groups by the
	// values of the fields and makes the object at the end: if there is only one field, its missing value
	// becomes null; missing values of several fields stay missing. Observed: mongod 7.0 and 8.2.
	lone bson.Value
	out  []output
	mode groupMode
}

func parseGroup(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, 15947, "a group's fields must be specified in an object")
	if err != nil {
		return nil, err
	}
	s := &groupStage{}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		if name == "_id" {
			if s.id != nil {
				return nil, mongoerr.New(15948, "a group's _id may only be specified once")
			}
			if s.id, err = p.groupKey(it.Value); err != nil {
				return nil, err
			}
			s.lone = loneKey(it.Value)
			continue
		}
		if name == "" && p.env.Release.Has(release.GroupNamesFields) {
			return nil, mongoerr.New(mongoerr.BadValue, "the name of a field of $group may not be empty")
		}
		out, err := p.accumulated(name, it.Value)
		if err != nil {
			return nil, err
		}
		s.out = append(s.out, out)
	}
	if s.id == nil {
		return nil, mongoerr.New(15955, "a group specification must include an _id")
	}
	return []Stage{s}, nil
}

// groupKey parses the _id of $group.
func (p *parser) groupKey(v bson.Value) (expr.Expr, error) {
	if d, ok := v.Doc(); ok {
		if f, some := d.First(); some && (len(f.Name) == 0 || f.Name[0] != '$') {
			for it := d.Iter(); it.Next(); {
				if it.Value.IsNumber() || it.Value.Type == bson.TypeBool {
					return nil, mongoerr.New(17390, "$group does not support inclusion-style expressions")
				}
			}
		}
	}
	return expr.Parse(p.env, v)
}

// loneKey returns {field: null} for an object of one field, else missing.
func loneKey(v bson.Value) bson.Value {
	d, _ := v.Doc()
	f, ok := d.First()
	if !ok || d.Len() != 1 || len(f.Name) == 0 || f.Name[0] == '$' {
		return bson.Value{}
	}
	b := bson.NewBuilder(nil)
	b.Null(string(f.Name))
	return b.Doc().Value()
}

func (s *groupStage) Name() string             { return "$group" }
func (s *groupStage) Constraints() Constraints { return stageGroup.Constraints }

func (s *groupStage) Split() Split {
	if s.mode != groupWhole {
		return merged(s)
	}
	return Split{
		Shards: []Stage{&groupStage{s.id, s.lone, s.out, groupPartial}},
		Merge:  []Stage{&groupStage{s.id, s.lone, s.out, groupMerge}},
	}
}

func (s *groupStage) Append(b *bson.Builder) {
	b.BeginDoc("$group")
	s.id.Append(b, "_id")
	for _, o := range s.out {
		o.fn.Append(b, o.name)
	}
	b.End()
}

func (s *groupStage) Reads(add func(string)) bool {
	if s.mode == groupMerge {
		add("")
		return true
	}
	s.id.Paths(add)
	for _, o := range s.out {
		o.fn.Paths(add)
	}
	return true
}

func (s *groupStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &groupOp{base: base{in: in, stage: s}, groupStage: s, table: groupTable{out: s.out}}, nil
}

// takesAnyOrder reports whether the accumulators of the stage have the same results for documents in any order.
func (s *groupStage) takesAnyOrder() bool {
	for _, o := range s.out {
		f, ok := o.fn.(*unaryFunc)
		if !ok {
			return false
		}
		switch f.name {
		case accSum.Name, accAvg.Name, accMin.Name, accMax.Name:
		default:
			return false
		}
	}
	return true
}

// passMatch moves conditions of a following $match on the _id in front of the $group.
func (s *groupStage) passMatch(m *matchStage) ([]Stage, bool) { return pushWhole(s, m, s.origin) }

// origin returns the path in the input documents from which a path in the _id is copied; ok is false unless the _id
// is a top-level field, or an object in which the path leads to one.
func (s *groupStage) origin(p path.Path) (path.Path, bool) {
	if s.mode == groupMerge || p.First() != "_id" {
		return p, false
	}
	if from, ok := expr.FieldPath(s.id); ok && !strings.Contains(from, ".") {
		return renamed(p, 1, from), true
	}
	if p.Len() < 2 {
		return p, false
	}
	e, ok := expr.ObjectField(s.id, p.Name(1))
	if !ok {
		return p, false
	}
	from, ok := expr.FieldPath(e)
	return renamed(p, 2, from), ok && !strings.Contains(from, ".")
}
