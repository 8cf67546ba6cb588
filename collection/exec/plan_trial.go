package exec

import (
	"errors"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// A trial runs the candidate plans of a query for a short while on one shard and selects the plan that delivers most
// rows for its work; one that ended comes first. Work is counted, not timed, so that the same data lead to the same
// choice.
const (
	trialWork = 10000 // most work of one candidate in the last round
	trialRows = 101   // rows after which a candidate is stopped
	// fetchCost is the work of reading a record by its key. Stepping to the next key or record costs 1.
	fetchCost = 2
)

// trialRounds holds the most work of one candidate in each round of a trial. A trial has further rounds, which begin
// anew, only while no candidate has ended or delivered trialRows rows. So its work is about that of the winner for each
// candidate, although the first candidate may be a bad one.
var trialRounds = [...]int64{trialWork / 50, trialWork / 7, trialWork}

// errWorkUsedUp ends the run of a candidate plan that has used up the work of its trial.
var errWorkUsedUp = errors.New("the work of a trial is used up")

// trial holds the work that a candidate plan may still do: one unit per step of a scan, fetchCost per record
// read by its key.
type trial struct{ left int64 }

// spend subtracts work from the trial's rest; a nil trial has no limit. After an error the trial stays over,
// because operators may store the error, return it later or lose it.
func (t *trial) spend(n int64) error {
	if t == nil {
		return nil
	}
	if t.left -= n; t.left < 0 {
		return errWorkUsedUp
	}
	return nil
}

// workUsedUp reports whether the work of the trial is used up, even if an operator stored or lost the error.
func (t *trial) workUsedUp() bool { return t.left < 0 }

// has reports whether at least n of the work is left.
func (t *trial) has(n int64) bool { return t == nil || t.left >= n }

// limited reports whether work is limited: in a trial, and for a plan from the plan cache until it is trusted.
func (t *trial) limited() bool { return t != nil && t.left < math.MaxInt64/2 }

// lift removes the limit of work for good, for a plan that is kept. It must not be called when the trial is
// over: an operator may hold its error.
func (t *trial) lift() { t.left = math.MaxInt64 }

// Tried holds the result of one candidate plan in a trial.
type Tried struct {
	Solution *plan.Solution
	Works    int64 // work done
	Advanced int64 // rows delivered
	EOF      bool  // it delivered its last row
	Score    float64
	// Stats is the candidate's tree with counters, as explain prints it.
	Stats bson.Raw
}

// Trial runs every candidate plan of a query on one shard for a while. It returns their results, in the order
// of sols, and the index of the winner: the plan with the highest score, 1 + rows/work, and 1 more if it ended;
// of equal scores, the one with less work. The work is not charged.
//
// Errors: the reason why the command must end. Any other error of a candidate only ends its run, with the rows
// delivered so far.
func Trial(env *mql.Env, sols []*plan.Solution, src Source) (tried []Tried, winner int, err error) {
	lane := env.Slot
	env = env.Fork(env.Context())
	env.Meter, env.Slot = nil, lane
	for _, budget := range trialRounds {
		var decided bool
		if tried, winner, decided, err = trialRound(env, sols, src, budget); decided || err != nil {
			break
		}
	}
	return tried, winner, err
}

// trialRound runs every candidate plan with a budget of work. decided reports that one of them has ended or delivered
// trialRows rows: with a larger budget the same one would win.
func trialRound(env *mql.Env, sols []*plan.Solution, src Source, budget int64) (tried []Tried, winner int, decided bool, err error) {
	tried = make([]Tried, len(sols))
	for i, s := range sols {
		own := env.Memory.Sibling(mql.StageBytesMax)
		t := &tried[i]
		t.Solution = s
		err := t.run(env.WithMemory(own), src, budget)
		own.Release()
		if err != nil {
			return nil, 0, false, err
		}
		if t.EOF || t.Advanced >= trialRows {
			budget, decided = min(budget, t.Works), true // a candidate that needs more cannot win
		}
		if i > 0 && t.betterThan(&tried[winner]) {
			winner = i
		}
	}
	return tried, winner, decided, nil
}

// betterThan compares scores, then work.
func (t *Tried) betterThan(o *Tried) bool {
	return t.Score > o.Score || t.Score == o.Score && t.Works < o.Works
}

// run tries one candidate.
func (t *Tried) run(env *mql.Env, src Source, budget int64) error {
	src.Trial = &trial{left: budget}
	op, err := Build(t.Solution.Shards, src)
	if err != nil {
		return err
	}
	defer op.Close()
	for t.Advanced < trialRows {
		r, err := op.Next(env)
		if err != nil {
			if end := env.Interrupted(); end != nil {
				return end
			}
			break
		}
		if r == nil {
			t.EOF = true
			break
		}
		t.Advanced++
	}
	t.Works = min(budget, budget-src.Trial.left)
	t.Score = 1 + float64(t.Advanced)/float64(max(t.Works, 1))
	if t.EOF {
		t.Score++
	}
	b := bson.NewBuilder(nil)
	op.Explain(b, true)
	t.Stats = b.Doc()
	return nil
}
