//go:build !invariants

package cursor

// warmMax is how many idle cursors keep their iterators open unless Config says so.
const warmMax = 256
