package console

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/history"
)

// shapesReply is the work of query shapes in a time, and in the time of the same length before.
type shapesReply struct {
	Step int64 `json:"step"` // seconds of an element of the lists
	From int64 `json:"from"` // second at which the first element begins
	To   int64 `json:"to"`
	// RU and Refused are averages per second of all shapes of the request; those Before are of the elements that begin
	// To-From seconds earlier.
	RU            []float64  `json:"ru"`
	Refused       []float64  `json:"refused"`
	RUBefore      []float64  `json:"ruBefore"`
	RefusedBefore []float64  `json:"refusedBefore"`
	Compared      bool       `json:"compared"` // the whole time before was recorded
	Since         int64      `json:"since"`    // second from which on shapes were recorded
	Shapes        []shapeRow `json:"shapes"`   // those with the most work, in the time or before
	More          int        `json:"more"`     // further shapes, which the argument top has left out
	Incomplete    []string   `json:"incomplete,omitempty"`
}

// shapeRow is the work of one shape. A row without a command is the sum of the other shapes of its collection, one
// without a collection that of all others.
type shapeRow struct {
	NS      string    `json:"ns"`
	Command string    `json:"command"`
	Filter  string    `json:"filter"`
	Sort    string    `json:"sort"`
	Now     shapeWork `json:"now"`
	Before  shapeWork `json:"before"`
}

type shapeWork struct {
	RU      float64 `json:"ru"`
	Count   int64   `json:"count"`
	Refused int64   `json:"refused"` // documents or statements
}

func workOf(w history.ShapeWork) shapeWork {
	return shapeWork{math.Round(100*w.RU) / 100, w.Runs, w.Refused}
}

// shapes returns the work of query shapes in a time and in the time of the same length before: of one collection or of
// all, of all shapes or, with the arguments command, filter and sort, of one. The user needs the privileges of the
// command GetRequestReport, of which a run checks them.
func shapes(q *query) (any, error) {
	top, err := q.number("top", 100, 1, 1000)
	if err != nil {
		return nil, err
	}
	name, db, report := "", "admin", bson.D{{"customAction", "GetRequestReport"}, {"top", 1}}
	if q.text("ns") != "" {
		ns, err := q.namespace()
		if err != nil {
			return nil, err
		}
		name, db, report = ns.String(), ns.DB, append(report, bson.E{"collection", ns.Coll})
	}
	if _, err := q.runCommand(db, report); err != nil {
		return nil, err
	}
	_, from, to, err := q.window()
	if err != nil {
		return nil, err
	}
	steps := q.History.ShapeSteps(max(0, from), to)
	steps.Namespace = name
	if c := q.text("command"); c != "" {
		steps.Only = &history.Shape{Namespace: name, Command: c, Filter: q.text("filter"), Sort: q.text("sort")}
	}
	now, unreachable, err := q.History.Shapes(q.Context(), steps)
	if err != nil {
		return nil, err
	}
	past := steps
	past.First -= int64(steps.Steps)
	before, _, err := q.History.Shapes(q.Context(), past)
	if err != nil {
		return nil, err
	}
	out := q.compareShapes(&steps, now, before, int(top))
	out.Incomplete = unreachable
	return out, nil
}

// compareShapes puts the sums of a time beside those of the time before.
func (q *query) compareShapes(steps *history.ShapeQuery, now, before history.ShapeSums, top int) *shapesReply {
	step, open := history.Step(steps.Level), q.History.Second()
	out := &shapesReply{Step: step, From: steps.First * step, Since: now.Since, Shapes: []shapeRow{}}
	out.To = out.From + int64(steps.Steps)*step
	earliest := out.From - int64(steps.Steps)*step
	out.Compared = now.Since <= earliest && earliest > open-history.Span(steps.Level)
	for i := range now.Steps {
		seconds := math.Max(1, float64(min(step, open-out.From-int64(i)*step))) // the last step may not be full
		out.RU = append(out.RU, now.Steps[i].RU/seconds)
		out.Refused = append(out.Refused, float64(now.Steps[i].Refused)/seconds)
		out.RUBefore = append(out.RUBefore, before.Steps[i].RU/float64(step))
		out.RefusedBefore = append(out.RefusedBefore, float64(before.Steps[i].Refused)/float64(step))
	}
	at := map[history.Shape]int{}
	row := func(s history.Shape) *shapeRow {
		i, ok := at[s]
		if !ok {
			i = len(out.Shapes)
			at[s] = i
			out.Shapes = append(out.Shapes, shapeRow{NS: s.Namespace, Command: s.Command, Filter: s.Filter, Sort: s.Sort})
		}
		return &out.Shapes[i]
	}
	for _, r := range now.Rows {
		row(r.Shape).Now = workOf(r.ShapeWork)
	}
	for _, r := range before.Rows {
		row(r.Shape).Before = workOf(r.ShapeWork)
	}
	out.More = max(0, len(out.Shapes)-top)
	out.Shapes = out.Shapes[:len(out.Shapes)-out.More]
	return out
}
