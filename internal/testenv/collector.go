package testenv

import "os"

// scripts/test sets GOGC for compilers and test processes. Go has read it when this runs; the servers that a test
// starts must not inherit it, because they would then not set the goal of their collector as released ones do.
func init() { _ = os.Unsetenv("GOGC") }
