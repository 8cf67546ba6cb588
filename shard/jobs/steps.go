package jobs

// The steps of jobs, which OnStep is told of. At each of them a process may end.
//
//	Reshard       begun, copying (once per transaction), copied, applied, blocked, ready
//	Split, Merge  prepared, counted, moving (once per transaction), moved, settled
//	others        what their callers give to Step
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

// OnStep has fn called at the steps of jobs, in their goroutines: for tests that
// look at what is there, or end the process. nil ends that.
func (r *Runner) OnStep(fn func(step string)) {
	if fn == nil {
		r.stepped.Store(nil)
		return
	}
	r.stepped.Store(&fn)
}

// Step says that a job is at a step.
func (r *Runner) Step(name string) {
	if fn := r.stepped.Load(); fn != nil {
		(*fn)(name)
	}
}
