package jobs_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// TestMain fails if a test leaves a goroutine behind. It polls, because the end of a goroutine is not
// signalled.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); code == 0 && n > before {
		buf := make([]byte, 1<<20)
		fmt.Printf("%d goroutines are left:\n%s\n", n-before, buf[:runtime.Stack(buf, true)])
		code = 1
	}
	os.Exit(code)
}
