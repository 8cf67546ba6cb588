//go:build invariants

package cursor

import "math/rand/v2"

// parksAnyway has every other cursor parked although few are warm, so that all tests of
// batches are tests of that, and of going on with what is open.
func parksAnyway() bool { return rand.IntN(2) == 0 }
