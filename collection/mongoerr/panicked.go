package mongoerr

import (
	"fmt"
	"runtime/debug"
)

// Panicked is the error of work that ended in a panic: clients are told InternalError, and the
// log has the stack.
type Panicked struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine
}

// Error implements error.
func (p *Panicked) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Recovered is the error of a panic, nil if there is none: for a deferred function, which hands it
// what recover returned.
func Recovered(value any) error {
	if value == nil {
		return nil
	}
	return &Panicked{value, debug.Stack()}
}
