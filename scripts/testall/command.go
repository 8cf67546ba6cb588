package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// command prepares a command in the root of the repository, without standard input. The command leads a process
// group, so that everything that it starts can be ended with it. The returned function ends that group, and adds the
// processor time of the command to that of the step.
func (r *run) command(name string, args ...string) (*exec.Cmd, func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), r.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func(s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Cancel = func() error {
		time.AfterFunc(cmd.WaitDelay, func() { _ = kill(syscall.SIGKILL) })
		return kill(syscall.SIGTERM)
	}
	return cmd, func() {
		cancel()
		if cmd.ProcessState != nil { // includes the processes that it started and waited for
			r.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		if cmd.Process != nil {
			_ = kill(syscall.SIGKILL) // processes that it left behind
		}
	}
}

// output runs a command to its end, and prints the command's output as that of the step.
func (r *run) output(name string, args ...string) error {
	cmd, end := r.command(name, args...)
	defer end()
	cmd.Stdout, cmd.Stderr = r.out, r.out
	return cmd.Run()
}

// toolFlags returns the environment variables of all commands. Go compiles as for a release, without C and without the
// path of the folder, except that the race detector needs C: so the released program is tested, no C compiler is
// needed, and steps, as well as clones, share compiled packages. The garbage collector of compilers and tests runs at
// five times the live heap instead of twice: tests take 12 to 20 percent less CPU, compilers 7 to 15. Servers that
// tests start do not inherit this (internal/testenv), because a server sets its own goal.
func toolFlags() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"), "GOGC=400"}
}
