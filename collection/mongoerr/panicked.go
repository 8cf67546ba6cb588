package mongoerr

import (
	"fmt"
	"runtime/debug"
)

// Panicked is the error of work that ended in a panic, for example on another goroutine. Clients get InternalError,
// and the stack is logged.
type Panicked struct {
	Value any    // argument of panic
	Stack []byte // of the goroutine
}

// Error implements error.
func (p *Panicked) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Recovered returns the error of a panic; it is called in a deferred function. value is the result of recover: if
// value is nil, there was no panic, and the error is nil.
func Recovered(value any) error {
	if value == nil {
		return nil
	}
	return &Panicked{value, debug.Stack()}
}
