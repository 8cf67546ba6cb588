package mongoerr

import (
	"fmt"
	"runtime/debug"
)

// Panicked is the error of work that ended in a panic. Clients get InternalError, and the stack is
// logged.
type Panicked struct {
	Value any    // argument of panic
	Stack []byte // of the goroutine
}

// Error implements error.
func (p *Panicked) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Recovered returns the error of a panic, in a deferred function. value is the result of recover; if
// value is nil, so is the error.
func Recovered(value any) error {
	if value == nil {
		return nil
	}
	return &Panicked{value, debug.Stack()}
}
