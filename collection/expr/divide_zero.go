package expr

import "errors"

// ErrDivideByZero is the cause in the error of $divide for a zero divisor. Accumulators recognise it and report
// a different code.
var ErrDivideByZero = errors.New("division by zero")
