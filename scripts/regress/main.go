// Command regress compares the benchmarks of two commits and fails if the newer one needs more than 5 % more of
// the costs that do not depend on the machine's load: allocations and bytes per operation, and instructions if
// the machine counts them (perf stat). If it does not, the CPU time of alternating runs is printed, and fails the
// comparison only with --cpu.
//
//	go run ./scripts/regress                    this tree against the commit before it
//	go run ./scripts/regress --base v0.2.0 ./storage/pebblekv ./wire/server
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// rooms are the packages whose benchmarks cover the path of requests.
var rooms = []string{"./bson", "./bson/keystring", "./bson/path", "./collection/agg", "./collection/changelog", "./collection/exec",
	"./collection/expr", "./collection/match", "./collection/project", "./collection/update", "./ratelimit", "./storage/pebblekv",
	"./storage/writebuf", "./wire/rooms", "./wire/server"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "regress:", err)
		os.Exit(1)
	}
}

// comparison holds the settings of a comparison of two commits.
type comparison struct {
	base, iterations string
	over             float64 // per cent
	runs             int
	cpu              bool
	out              io.Writer
	dir              string // of binaries
}

func run(ctx context.Context, out io.Writer) error {
	c := comparison{out: out}
	flag.StringVar(&c.base, "base", "HEAD~1", "the `commit` to compare with")
	flag.StringVar(&c.iterations, "iterations", "2000x", "how often each benchmark runs, as -test.benchtime takes it")
	flag.Float64Var(&c.over, "over", 5, "fail above so many `per cent`")
	flag.IntVar(&c.runs, "runs", 3, "alternating runs, of which the least counts")
	flag.BoolVar(&c.cpu, "cpu", false, "judge CPU time where instructions are not counted")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = rooms
	}
	var err error
	if c.dir, err = os.MkdirTemp("", "regress"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	tree := filepath.Join(c.dir, "base")
	if err := command(ctx, ".", "git", "worktree", "add", "--detach", tree, c.base); err != nil {
		return err
	}
	defer func() { _ = command(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree) }()
	worse, start := 0, time.Now()
	for i, p := range packages {
		fmt.Fprintf(out, "%s (%d of %d, %s)\n", p, i+1, len(packages), time.Since(start).Round(time.Second))
		n, err := c.compare(ctx, tree, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		worse += n
	}
	if worse > 0 {
		return fmt.Errorf("%d figures are worse by more than %g %% than at %s; make up for it, or say in the commit's body why it is worth that", worse, c.over, c.base)
	}
	return nil
}

// compare runs the benchmarks of one package at both commits, and returns the number of figures that are worse at the
// newer one.
func (c *comparison) compare(ctx context.Context, tree, pkg string) (worse int, err error) {
	if _, err := os.Stat(filepath.Join(tree, pkg)); err != nil {
		return 0, nil // the base does not have the package
	}
	old, now := filepath.Join(c.dir, "old.test"), filepath.Join(c.dir, "now.test")
	if err := errors.Join(command(ctx, tree, "go", "test", "-c", "-o", old, pkg), command(ctx, ".", "go", "test", "-c", "-o", now, pkg)); err != nil {
		return 0, err
	}
	least := [2]figures{{}, {}}
	for range c.runs {
		for i, side := range []struct{ binary, dir string }{{old, filepath.Join(tree, pkg)}, {now, pkg}} {
			got, err := c.measure(ctx, side.binary, side.dir)
			if err != nil {
				return 0, err
			}
			least[i].takeLeast(got)
		}
	}
	for _, line := range least[1].worse(least[0], c.over, c.cpu) {
		fmt.Fprintln(c.out, "  "+line)
		if !strings.HasSuffix(line, unjudged) {
			worse++
		}
	}
	return worse, nil
}

// measure runs a test binary's benchmarks once.
func (c *comparison) measure(ctx context.Context, binary, dir string) (figures, error) {
	args := []string{binary, "-test.run", "^$", "-test.bench", ".", "-test.benchmem", "-test.benchtime", c.iterations, "-test.cpu", "1"}
	counts := filepath.Join(c.dir, "counts")
	_ = os.Remove(counts)
	if _, err := exec.LookPath("perf"); err == nil {
		args = append([]string{"perf", "stat", "-x", ",", "-e", "instructions:u", "-o", counts}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	f := parse(string(text))
	f[cpuSeconds] = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if n, ok := instructions(counts); ok {
		f["instructions"] = n
	}
	return f, nil
}

// instructions returns the number of instructions in the output of perf stat; the second result is false if the
// machine does not count them.
func instructions(path string) (float64, bool) {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, ","); len(f) > 2 && strings.HasPrefix(f[2], "instructions") {
			n, err := strconv.ParseFloat(f[0], 64)
			return n, err == nil
		}
	}
	return 0, false
}

// parse reads the output of benchmarks.
func parse(text string) figures {
	f := figures{}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		words := strings.Fields(s.Text())
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(words); i += 2 {
			if n, err := strconv.ParseFloat(words[i], 64); err == nil && (words[i+1] == "allocs/op" || words[i+1] == "B/op") {
				f[words[0]+" "+words[i+1]] = n
			}
		}
	}
	return f
}

func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return nil
}
