package doctor

import "golang.org/x/sys/unix"

// timeError is the state that the system call adjtimex(2) returns (TIME_ERROR) while the clock is not synchronised.
const timeError = 5

// synchronized reports whether the kernel considers the clock synchronised.
func synchronized() (kept, known bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return state != timeError, err == nil
}
