// Command testall runs everything continuous integration runs and ends with one
// line, "N passed, N failed, N skipped", counted from what ran.
//
// Every step runs even if an earlier one failed, so that one run shows all there
// is to repair. Nothing reads standard input.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// step is one part of a run.
type step struct {
	name string
	what string // one line for -h
	long bool   // only with --long
	run  func(r *run) error
}

// steps in the order they run.
var steps = []step{
	{"mongosh", "install mongosh into .cache/mongosh unless it is there", false, (*run).installMongosh},
	{"browser", "find a Chromium, or install one: by apt-get as root, else from npm into .cache", false, (*run).installBrowser},
	{"build", "go build, and the server that the end-to-end tests start", false, (*run).build},
	{"vet", "go vet", false, (*run).vet},
	{"history", "go build and go vet of every new commit, and what its message says", false, (*run).history},
	{"staticcheck", "staticcheck", false, (*run).staticcheck},
	{"vulnerable", "govulncheck, where its database can be reached", false, (*run).vulnerable},
	{"unit", "tests of all packages: units, conformance, case files, tidy rules", false, (*run).unit},
	{"end", "end-to-end tests: cases, mongosh scripts, driver, crash, differential", false, (*run).endToEnd},
	{"released", "cases, isolation, differential and simulation on the server as it is released", false, (*run).released},
	{"cluster", "the same suites over a simulated TiKV cluster in which everything goes wrong: a share, with --long all of them", false, (*run).cluster},
	{"clients", "drivers and mappers of other languages, installed into .cache/clients", false, (*run).clients},
	{"artefacts", "what ./scripts/release makes, installed and started", false, (*run).artefacts},
	{"fuzz", "every fuzz target for a few seconds", false, (*run).fuzz},
	{"race", "all tests with the race detector", true, (*run).race},
	{"soak", "the fault programme's nightly column; --rows and --part for some of it", true, (*run).soak},
}

// run is one run of the program.
type run struct {
	ctx      context.Context
	long     bool
	rows     string // of the fault programme that soak does; "" = all
	part     string // of what soak and fuzz do, as "2/8"; "" = all
	tags     string // build tags of tests
	packages string // pattern the unit, vet and staticcheck steps work on
	count    tally
	env      []string // added to the environment of every command
}

// runLimit bounds a run without --long, whatever hangs. A usual one takes 35 minutes on two cores.
const runLimit = 60 * time.Minute

func main() {
	r := &run{tags: testTags}
	only := flag.String("only", "", "comma-separated `steps` to run instead of all")
	flag.BoolVar(&r.long, "long", false, "longer fuzzing, race detector, soak: hours, not minutes")
	flag.StringVar(&r.rows, "rows", "", "comma-separated `rows` of FAULTS.md that the step soak does, instead of all: a night can be split")
	flag.StringVar(&r.part, "part", "", "`part` of what the steps soak and fuzz do, as 2/8 is the second of eight: their counts add up")
	flag.StringVar(&r.packages, "packages", "./...", "package `pattern` for vet, staticcheck, unit and fuzz")
	flag.Usage = usage
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !r.long {
		limited, cancel := context.WithTimeout(ctx, runLimit)
		defer cancel()
		ctx = limited
	}
	r.ctx = ctx
	start := time.Now()
	for _, s := range r.chosen(*only) {
		r.do(s)
	}
	fmt.Printf("\ntook %s\n", time.Since(start).Round(time.Second))
	reportFaults(os.Stdout, start)
	r.count.report(os.Stdout)
	if r.count.failed > 0 {
		os.Exit(1)
	}
}

// chosen returns the steps named in a comma-separated list, or all that are due.
func (r *run) chosen(only string) []step {
	var out []step
	if only == "" {
		for _, s := range steps {
			if r.long || !s.long {
				out = append(out, s)
			}
		}
		return out
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(steps, func(s step) bool { return s.name == name })
		if i < 0 {
			r.count.fail("no step is called " + name)
			continue
		}
		out = append(out, steps[i])
	}
	return out
}

// usage prints the help text.
func usage() {
	out := flag.CommandLine.Output()
	fmt.Fprintln(out, "usage: ./scripts/test [flags]")
	flag.PrintDefaults()
	fmt.Fprintln(out, "steps:")
	for _, s := range steps {
		when := ""
		if s.long {
			when = " (with --long)"
		}
		fmt.Fprintf(out, "  %-12s %s%s\n", s.name, s.what, when)
	}
}

// errNothing is returned by a step that found nothing to run.
var errNothing = errors.New("nothing to run")

// do runs one step. A step that returns an error is one failure; a step that counts
// nothing itself and returns nil is one pass.
func (r *run) do(s step) {
	if r.ctx.Err() != nil {
		r.count.fail(s.name + ": not run: " + r.ctx.Err().Error())
		return
	}
	fmt.Printf("\n=== %s: %s\n", s.name, s.what)
	before, start, computed := r.count.total(), time.Now(), childrenCPU()
	err := s.run(r)
	took := fmt.Sprintf("%s, %s of CPU", time.Since(start).Round(100*time.Millisecond), (childrenCPU() - computed).Round(100*time.Millisecond))
	switch {
	case errors.Is(err, errNothing):
		fmt.Println("--- nothing to do")
	case err != nil:
		fmt.Printf("--- FAIL %s (%s): %v\n", s.name, took, err)
		r.count.fail(s.name + ": " + err.Error())
	default:
		if r.count.total() == before {
			r.count.passed++
		}
		fmt.Printf("--- done %s (%s)\n", s.name, took)
	}
}

// childrenCPU is the processor time of the commands that have ended, and of all they
// started and waited for. Beside the time a step took it tells computing from waiting.
func childrenCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// command prepares a command in the module's root without standard input. It leads a
// process group, so that its end can be the end of everything it started.
func (r *run) command(limit time.Duration, name string, args ...string) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(r.ctx, limit)
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
		if cmd.Process != nil {
			_ = kill(syscall.SIGKILL) // what it left behind
		}
	}
}

// output runs a command to its end, its output going to ours.
func (r *run) output(limit time.Duration, name string, args ...string) error {
	cmd, cancel := r.command(limit, name, args...)
	defer cancel()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	return cmd.Run()
}
