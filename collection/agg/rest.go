package agg

import "github.com/cantledb/cantle/collection/exec"

// The operators that keep nothing of a row once the next one is asked for rest with
// their input; see exec.Rester. The others go on holding what they hold.

func (o *limitOp) Rest() (int, bool)     { return exec.Rest(o.in) }
func (o *matchOp) Rest() (int, bool)     { return exec.Rest(o.in) }
func (o *skipOp) Rest() (int, bool)      { return exec.Rest(o.in) }
func (o *transformOp) Rest() (int, bool) { o.buf = nil; return exec.Rest(o.in) }

func (o *unwindOp) Rest() (int, bool) {
	if o.from != nil { // in the middle of an array
		return 0, true
	}
	return exec.Rest(o.in)
}
