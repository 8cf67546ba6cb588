// Command release makes a release of Cantle from the commit that is checked out: binaries, archives, container
// images, packages for Linux, npm and Python, manifests for package managers, bills of materials and checksums.
// It needs Go and git, and the network only for the module proxy. The build is reproducible: made twice from one
// commit, every file is the same to the byte.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run executes the command line.
func run(args []string) error {
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	out := f.String("out", "", "`folder` to write to; .cache/release/VERSION unless given")
	only := f.String("platforms", "", "comma-separated `platforms` such as linux/amd64, instead of all")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: ./scripts/release VERSION [flags]")
		f.PrintDefaults()
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		if err := f.Parse(args); err != nil {
			return err
		}
		return errors.New("expected a version such as 0.2.0")
	}
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	r, err := newRelease(".", args[0], *out)
	if err != nil {
		return err
	}
	if *only != "" {
		if r.platforms, err = parsePlatforms(*only); err != nil {
			return err
		}
	}
	return r.make()
}

// release holds the state of making one release.
type release struct {
	root      string // of the checkout
	out       string
	version   string // without a v
	commit    string
	date      time.Time // of the commit; the time of every file
	changed   bool      // the checkout has uncommitted changes
	platforms []platform
	pages     []string // the files of the man pages
}

// versionPattern matches the versions that all package managers parse, and order in the same way.
var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)

// newRelease prepares a release from the checkout in root: it reads the commit and its state.
// Errors: a wrong version; errors of git.
func newRelease(root, version, out string) (*release, error) {
	version = strings.TrimPrefix(version, "v")
	if !versionPattern.MatchString(version) {
		return nil, fmt.Errorf("%q is no version such as 0.2.0 or 0.2.0-rc.1", version)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &release{root: root, version: version, platforms: platforms}
	commit, err := r.git("log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	var seconds int64
	if _, err := fmt.Sscan(commit, &r.commit, &seconds); err != nil {
		return nil, fmt.Errorf("git log says %q: %w", commit, err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	status, err := r.git("status", "--porcelain")
	if err != nil {
		return nil, err
	}
	r.changed = status != ""
	if out == "" {
		out = filepath.Join(root, ".cache", "release", version)
	}
	r.out, err = filepath.Abs(out)
	return r, err
}

// make makes everything, stage by stage.
func (r *release) make() error {
	if r.changed {
		fmt.Println("the checkout has changes that are not committed; the binaries will say so")
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	for _, stage := range [][]step{
		{{"binaries", r.binaries}},
		{{"man pages", r.manual}, {"licences", r.notices}},
		{{"archives", r.archives}, {"images", r.images}, {"packages for Linux", r.packages}, {"packages for npm", r.npm}, {"wheels for Python", r.wheels}},
		{{"bills of materials", r.bills}, {"manifests", r.manifests}},
		{{"checksums and notes", r.close}},
	} {
		var all errgroup.Group
		all.SetLimit(runtime.NumCPU())
		for _, s := range stage {
			all.Go(s.run)
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	fmt.Println("in", r.out)
	return nil
}

// step is a part of making a release. Steps of one stage do not depend on each other, so they run at the same time.
type step struct {
	what string
	do   func() error
}

// run does a step and prints how long it took.
func (s step) run() error {
	begun := time.Now()
	if err := s.do(); err != nil {
		return fmt.Errorf("%s: %w", s.what, err)
	}
	fmt.Printf("%-20s %s\n", s.what, time.Since(begun).Round(100*time.Millisecond))
	return nil
}
