//go:build !unix

package daemon

import "math"

// addressBytes is what a limit of the address space leaves; there is none.
func addressBytes() int64 { return math.MaxInt64 }
