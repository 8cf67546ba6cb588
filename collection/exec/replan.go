package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// replanRatio limits the work of a plan from the plan cache: before it has delivered as many rows as a trial
// needs, it may do ten times the work that it took in the trial it won. Beyond that, the plans are tried again.
const replanRatio = 10

// BuildChosen returns the operators that run the solution that the planner chose on a shard. A plan from the plan cache is watched
// until it has delivered as many rows as a trial needs or the query reads, pageBytes, or its last row; a plan that
// used up its trial is not. If it does more than ten times the work of the trial that it won, the plans are tried again.
// Its work until then is not charged, as the work of trials is not. rows is the number of rows to read in all, 0 if
// unknown.
// Manual: core/query-plans#plan-cache-entry-state.
func BuildChosen(s *plan.Solution, rows int64, src Source) (Operator, error) {
	if s.Replan == nil || s.Works >= trialWork {
		return Build(s.OnShards(), src) // the result of a trial that did not end is no measure
	}
	unwatched := src
	src.Trial = &trial{left: replanRatio * max(s.Works, 1)}
	op, err := Build(s.OnShards(), src)
	if err != nil {
		return nil, err
	}
	want := int64(trialRows)
	if rows > 0 {
		want = min(want, rows)
	}
	return &cachedPlanOp{op: op, src: unwatched, trial: src.Trial, replan: s.Replan, rowsUntilTrusted: want}, nil
}

// cachedPlanOp runs a plan from the plan cache that may still be replaced. Until the plan is trusted, its rows
// are held back, because its replacement would deliver them again.
type cachedPlanOp struct {
	op               Operator
	src              Source
	trial            *trial
	replan           func(env *mql.Env) (*plan.Solution, error)
	rowsUntilTrusted int64

	settled  bool // the plan is trusted or replaced
	ended    bool // the plan ended while its rows were held back
	heldBack page
	at       int
}

func (w *cachedPlanOp) Next(env *mql.Env) (*Row, error) {
	if !w.settled {
		if err := w.settle(env); err != nil {
			return nil, err
		}
	}
	if w.at < len(w.heldBack.rows) {
		w.at++
		return &w.heldBack.rows[w.at-1], nil
	}
	if w.ended {
		return nil, nil
	}
	w.heldBack = page{}
	w.at = 0
	return w.op.Next(env)
}

// settle runs a cached plan until it is kept or replaced, and holds its rows back meanwhile. It replaces the plan as
// soon as the limit of work is exceeded, even if only by reading ahead, because an operator may then hold the error of
// the limit.
func (w *cachedPlanOp) settle(env *mql.Env) error {
	w.settled = true
	own := env.Fork(env.Context())
	own.Slot = env.Slot
	for int64(len(w.heldBack.rows)) < w.rowsUntilTrusted && len(w.heldBack.mem) < pageBytes {
		r, err := w.op.Next(own)
		if w.trial.workUsedUp() {
			own.Meter.Reset(own.Meter.Collection(), nil) // this work is not charged
			return w.change(env)
		}
		if err != nil {
			env.Meter.Merge(own.Meter)
			return err
		}
		if r == nil {
			w.ended = true
			break
		}
		w.heldBack.rows = append(w.heldBack.rows, w.heldBack.copy(r))
	}
	env.Meter.Merge(own.Meter)
	w.trial.lift()
	return nil
}

// change replaces the plan by the one that replan chooses.
func (w *cachedPlanOp) change(env *mql.Env) error {
	w.op.Close()
	w.heldBack = page{}
	s, err := w.replan(env)
	if err != nil {
		return err
	}
	w.op, err = Build(s.OnShards(), w.src)
	return err
}

func (w *cachedPlanOp) Explain(b *bson.Builder, stats bool) { w.op.Explain(b, stats) }

func (w *cachedPlanOp) Close() {
	if w.op != nil {
		w.op.Close()
	}
}
