//go:build !linux

package doctor

// synchronized is not implemented on other systems.
func synchronized() (kept, known bool) { return false, false }
