package jobs

// The steps of jobs, for OnStep. A process may end at each of them.
//
//	Reshard             begun, copying (once per transaction), copied, applied, blocked, ready
//	Split, Merge, Move  prepared, counted, moving (once per transaction), moved, settled
//	others              the names that callers pass to Step
const (
	stepBegun    = "begun"
	stepCopying  = "copying"
	stepCopied   = "copied"
	stepApplied  = "applied"
	stepBlocked  = "blocked"
	stepReady    = "ready"
	stepPrepared = "prepared"
	stepCounted  = "counted"
	stepMoving   = "moving"
	stepMoved    = "moved"
	stepSettled  = "settled"
)

// OnStep makes jobs call fn at their steps, in their goroutines, for tests that inspect the state or end the
// process. nil stops that.
func (r *Runner) OnStep(fn func(step string)) {
	if fn == nil {
		r.stepped.Store(nil)
		return
	}
	r.stepped.Store(&fn)
}

// Step calls the function of OnStep, if there is one.
func (r *Runner) Step(name string) {
	if fn := r.stepped.Load(); fn != nil {
		(*fn)(name)
	}
}
