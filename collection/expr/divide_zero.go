package expr

import "errors"

// ErrDivideByZero is the cause of $divide's error for a zero divisor, which accumulators report with a
// different code.
var ErrDivideByZero = errors.New("division by zero")
