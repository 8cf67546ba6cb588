package plans

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/exec"
)

// MongoDB executes the $group stages at the beginning of a pipeline, behind its query, as a part of the query: explain
// then shows them as stages GROUP of the winning plan (queryPlan), not in the list of stages, and explainVersion is 2. A
// distinct scan is executed without this. The addresses for Azure Cosmos DB keep the older form.
// Manual: reference/explain-results#explain-output-structure (explainVersion 2), core/aggregation-pipeline-optimization#-group-optimization.

// groupsInQuery returns the number of stages that belong to the query; stages is the list that stagesOf returns.
func (r *report) groupsInQuery(stages bson.Raw) (n int) {
	if r.c.Strict() {
		return 0
	}
	for i, it := 0, stages.Iter(); it.Next(); i++ {
		stage, _ := it.Value.Doc()
		first, _ := stage.First()
		if i == 0 {
			if tree, ok := first.Value.Doc(); string(first.Name) != "$cursor" || !ok || hasStage(tree, "DISTINCT_SCAN") {
				return 0
			}
			continue
		}
		if nameInPlan(first.Name) == "" {
			break
		}
		n++
	}
	return n
}

// nameInPlan returns the name that a stage of a pipeline has in the plan of a query; "" for none.
func nameInPlan(stage []byte) string {
	if def := agg.FindStage(string(stage)); def != nil {
		return def.InPlan
	}
	return ""
}

// hasStage reports whether a plan with one input at most for each stage has a stage with a name.
func hasStage(tree bson.Raw, name string) bool {
	for ok := true; ok; tree, ok = tree.Get("inputStage").Doc() {
		if s, _ := tree.Get("stage").Str(); s == name {
			return true
		}
	}
	return false
}

// withGroups returns a list of stages without the n stages behind the $cursor, which become stages above its plan. The
// counters of a stage, if the list has them, stay with it.
func withGroups(stages bson.Raw, n int) bson.Raw {
	if n == 0 {
		return stages
	}
	var tree bson.Raw
	b := bson.NewArrayBuilder(nil)
	for i, it := 0, stages.Iter(); it.Next(); i++ {
		stage, _ := it.Value.Doc()
		switch {
		case i == 0:
			tree, _ = stage.Get("$cursor").Doc()
		case i < n:
			tree = inPlan(stage, tree)
		case i == n:
			b.BeginDoc("")
			b.Raw("$cursor", inPlan(stage, tree))
			b.End()
		default:
			b.Value("", it.Value)
		}
	}
	return b.Doc()
}

// inPlan returns the plan whose highest stage is a stage of a pipeline, above the plan tree.
func inPlan(stage, tree bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := stage.Iter(); it.Next(); {
		if name := nameInPlan(it.Name); name != "" {
			b.String("stage", name)
		} else {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	b.Raw("inputStage", tree)
	return b.Doc()
}

// inQueryPlan reports whether the highest stage of a plan is a stage of a pipeline.
func inQueryPlan(tree bson.Raw) bool {
	name, _ := tree.Get("stage").Str()
	for _, def := range agg.Stages {
		if def.InPlan != "" && def.InPlan == name {
			return true
		}
	}
	return false
}

// version returns the explainVersion of operators.
func (r *report) version(op exec.Operator) string {
	if r.x.Pipeline != nil && r.groupsInQuery(stagesOf(op, false)) > 0 {
		return "2"
	}
	return "1"
}
