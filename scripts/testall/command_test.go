package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A command that hangs is ended, with everything it started.
func TestCommandLeavesNothingBehind(t *testing.T) {
	for name, script := range map[string]string{
		"ends":    "sleep 300 & echo $! > pid",
		"hangs":   "sleep 300 & echo $! > pid; wait",
		"refuses": "trap '' TERM; sleep 300 & echo $! > pid; while :; do sleep 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			r := &run{ctx: ctx}
			cmd, end := r.command("bash", "-c", script)
			cmd.Dir = t.TempDir()
			cmd.WaitDelay = time.Second
			start := time.Now()
			_ = cmd.Run()
			end()
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			pid, err := os.ReadFile(filepath.Join(cmd.Dir, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			gone := false
			for range 100 { // the end of a process is only reported to its parent, and the test is not the parent
				out, err := exec.Command("ps", "-o", "stat=", "-p", strings.TrimSpace(string(pid))).Output()
				if gone = err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z"); gone {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			if !gone {
				t.Errorf("process %s still runs", pid)
			}
		})
	}
}

// The processor time of a step includes that of the processes which the step's commands have started.
func TestProcessorTime(t *testing.T) {
	r := &run{ctx: t.Context()}
	cmd, end := r.command("bash", "-c", "bash -c 'for ((i = 0; i < 200000; i++)); do :; done'; true")
	err := cmd.Run()
	end()
	if err != nil {
		t.Fatal(err)
	}
	if r.cpu <= 0 || r.cpu > time.Minute {
		t.Errorf("200,000 rounds took %s", r.cpu)
	}
}
