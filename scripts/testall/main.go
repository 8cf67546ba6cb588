// Command testall runs the checks of a change, and ends with one line, "N passed, N failed, N skipped", which counts
// the tests that ran.
//
// It has three speeds: --quick before a commit, no flag for every change, as in continuous integration, and --long
// for a night. Every step runs even if an earlier one failed, so that one run shows all failures. The program never
// reads standard input.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// run is one run of the program, or of one step of it: steps run at the same time, and
// each has its own counts, environment and output.
type run struct {
	ctx      context.Context
	speed    speed
	rows     string // of the fault programme, for soak; "" = all
	part     string // the part of the work of the steps soak and fuzz, such as "2/8"; "" = all
	tags     string // build tags of tests
	packages string // pattern the unit, vet and staticcheck steps work on
	races    bool   // the run has the step race
	count    tally
	env      []string // added to the environment of every command
	out      *page    // of the step
	cpu      time.Duration
}

// everything is the pattern of packages for a run without --packages. For the Go tool, work means the packages of all
// modules in go.work.
const everything = "work"

func main() {
	r := &run{tags: testTags, speed: change, env: toolFlags()}
	only := flag.String("only", "", "comma-separated `steps` to run instead of all")
	quickly := flag.Bool("quick", false, "before a commit: the steps marked so, in minutes")
	var long bool
	flag.BoolVar(&long, "long", false, "a night: longer fuzzing, race detector, clusters, foreign suites, soak: hours, not minutes")
	flag.BoolVar(&long, "nightly", false, "the same as --long")
	limit := flag.Duration("limit", 0, "end the run after this `time`, as 60m; steps that are left are counted as not run")
	flag.StringVar(&r.rows, "rows", "", "comma-separated `rows` of FAULTS.md that the step soak does, instead of all: a night can be split")
	flag.StringVar(&r.part, "part", "", "`part` of what the steps soak and fuzz do, as 2/8 is the second of eight: their counts add up")
	flag.StringVar(&r.packages, "packages", everything, "package `pattern` for vet, staticcheck, unit and fuzz")
	flag.Usage = usage
	flag.Parse()
	switch {
	case *quickly && long:
		fmt.Fprintln(os.Stderr, "--quick and --long exclude each other: give one of them")
		os.Exit(2)
	case *quickly:
		r.speed = quick
	case long:
		r.speed = night
	}
	chosen, err := choose(*only, r.speed)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}

	r.races = r.speed == change && r.packages == everything && slices.ContainsFunc(chosen, func(s step) bool { return s.name == "race" })

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("the limit of %s was over", *limit))
		defer cancel()
		ctx = limited
	}
	r.ctx = ctx
	start := time.Now()
	r.all(chosen)
	fmt.Printf("\ntook %s, %s of CPU\n", time.Since(start).Round(time.Second), r.cpu.Round(time.Second))
	reportFaults(os.Stdout, start)
	r.count.report(os.Stdout)
	if r.count.failed > 0 || ctx.Err() != nil {
		os.Exit(1)
	}
}

// usage prints the help text.
func usage() {
	out := flag.CommandLine.Output()
	fmt.Fprintln(out, "usage: ./scripts/test [flags]")
	flag.PrintDefaults()
	fmt.Fprintln(out, "steps:")
	for _, s := range steps {
		fmt.Fprintf(out, "  %-12s %s%s\n", s.name, s.what, s.when())
	}
}

// errNothing is returned by a step that found nothing to run.
var errNothing = errors.New("nothing to run")

// lacking is the error of a step that cannot run on this machine. Its text names the missing program.
type lacking string

func (l lacking) Error() string { return "needs " + string(l) }
