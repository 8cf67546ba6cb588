package agg

import "github.com/cantledb/cantle/collection/exec"

// The operators that keep nothing of a row once the next one is asked for are parked with
// their input; see exec.Parker. The others go on holding what they hold.

func (o *limitOp) Park() (int, bool)     { return exec.Park(o.in) }
func (o *matchOp) Park() (int, bool)     { return exec.Park(o.in) }
func (o *skipOp) Park() (int, bool)      { return exec.Park(o.in) }
func (o *transformOp) Park() (int, bool) { o.buf = nil; return exec.Park(o.in) }

func (o *unwindOp) Park() (int, bool) {
	if o.from != nil { // in the middle of an array
		return 0, true
	}
	return exec.Park(o.in)
}
