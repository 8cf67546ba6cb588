package mongoerr

import (
	"fmt"
	"runtime/debug"
)

// Panicked is the error of work that ended in a panic. Clients get InternalError for it, and the
// log has the stack.
type Panicked struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine
}

// Error implements error.
func (p *Panicked) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Recovered makes the error of a panic in a deferred function: value is what recover returned, and
// the error is nil if that is.
func Recovered(value any) error {
	if value == nil {
		return nil
	}
	return &Panicked{value, debug.Stack()}
}
