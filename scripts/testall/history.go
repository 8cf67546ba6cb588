package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of one run of the step.
const (
	historyTime = 30 * time.Second // after which no further commit of a branch is vetted, except at night
	subjectMax  = 120              // characters of a commit's subject
)

// historyStart is the file that names the commit after which commits are new.
//
//go:embed history.txt
var historyStart string

// history is the step that checks every new commit: it has a message that explains it, and, if it changes code and
// time is left, passes vet, and so compiles. So bugs can be found by bisection, and changes can be understood later.
// On main only a night vets commits, because the branches that brought them were vetted.
func (r *run) history() error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	h := history{run: r, root: root, start: lastLine(historyStart)}
	switch {
	case r.speed == night:
		h.budget = 24 * time.Hour
	case h.isBranch():
		h.budget = historyTime
	}
	if changed, err := h.git("status", "--porcelain", "--untracked-files=no"); err == nil && changed == "" {
		h.current, _ = h.git("rev-parse", "HEAD")
	}
	found, err := h.check()
	for _, f := range found {
		fmt.Fprintln(r.out, f)
		r.count.fail("history: " + firstLine(f))
	}
	fmt.Fprintln(r.out, h.said)
	return err
}

// history is one run of the check of a repository's new commits: the form of their messages, and go vet of their
// files.
type history struct {
	run    *run
	root   string        // root is the folder of the repository
	start  string        // start is the commit after which commits are new, unless origin/main is one
	budget time.Duration // budget is the time after which no further commit is vetted; at 0 none is

	// current is the commit that is checked out, if no file was changed: other steps compile and vet its files.
	current string

	said string // description of the checked and the unchecked commits, for people
}

// commit is a checked commit.
type commit struct{ hash, tree, parents, subject, body string }

func (c commit) String() string { return c.hash[:7] + " " + c.subject }

// check checks the new commits, the newest first, and returns a text for each fault: the commit and the fault, with
// the output of go vet in the following lines.
// Errors: errors of git; a repository without its history is not an error.
func (h *history) check() (found []string, err error) {
	base, why := h.base()
	if base == "" {
		h.said = "no commit was checked: " + why
		return nil, nil
	}
	commits, err := h.commits(base)
	if err != nil {
		return nil, err
	}
	begun, known := time.Now(), h.known()
	var vetted, same, before, left int
	for _, c := range commits {
		if reason := misworded(c); reason != "" {
			found = append(found, c.String()+": "+reason)
		}
		changed, err := h.changesCode(c)
		switch {
		case err != nil:
			return found, err
		case !changed:
			same++
			continue
		case c.hash == h.current || slices.Contains(known, remembered(c)):
			before++
			continue
		case time.Since(begun) >= h.budget:
			left++
			continue
		}
		reason, err := h.vets(c)
		if err != nil {
			return found, err
		}
		vetted++
		if reason != "" {
			found = append(found, c.String()+": "+reason)
		} else if err := h.remember(c); err != nil {
			return found, err
		}
	}
	h.said = fmt.Sprintf("%d commits since %s: %d vetted, %d vetted by another step or an earlier run, %d change no code", len(commits), base, vetted, before, same)
	if left > 0 {
		h.said += fmt.Sprintf("; NOT vetted: %d, which --long does", left)
	}
	return found, nil
}

// base returns the commit after which commits are new, or the reason why there is none. New are the commits that a
// branch adds to origin/main; on main itself, those after the recorded commit.
func (h *history) base() (base, why string) {
	if top, err := h.git("rev-parse", "--show-toplevel"); err != nil || !sameFolder(top, h.root) {
		return "", "this is no clone of the repository"
	}
	if h.isBranch() {
		return "origin/main", ""
	}
	if base, err := h.git("merge-base", h.start, "HEAD"); err == nil {
		return base[:7], ""
	}
	if shallow, _ := h.git("rev-parse", "--is-shallow-repository"); shallow == "true" {
		return "", "this clone is shallow and ends before " + h.start[:7]
	}
	return "", "this history does not have " + h.start[:7]
}

// isBranch reports whether the clone has commits that origin/main does not have.
func (h *history) isBranch() bool {
	n, err := h.git("rev-list", "--count", "origin/main..HEAD")
	return err == nil && n != "0"
}

// commits returns the commits after base, the newest first.
func (h *history) commits(base string) (out []commit, err error) {
	listed, err := h.git("log", "--topo-order", "--format=%H%x00%T%x00%P%x00%s%x00%b%x01", base+"..HEAD")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(listed, "\x01") {
		f := strings.Split(strings.TrimSpace(entry), "\x00")
		if len(f) == 5 {
			out = append(out, commit{f[0], f[1], f[2], f[3], strings.TrimSpace(f[4])})
		}
	}
	return out, nil
}

// subjectForm matches the beginning of a subject: the changed packages.
var subjectForm = regexp.MustCompile(`^[^\s:][^:]*: \S`)

// misworded returns the fault of a commit's message, "" if it has none. Messages of merges are not checked, because
// git writes them.
func misworded(c commit) string {
	switch n := utf8.RuneCountInString(c.subject); {
	case strings.Contains(c.parents, " "):
		return ""
	case !subjectForm.MatchString(c.subject):
		return "its subject is not of the form \"room: what changed\""
	case n > subjectMax:
		return fmt.Sprintf("its subject has %d characters, %d are enough", n, subjectMax)
	case c.body == "":
		return "it has no body that says why"
	}
	return ""
}

// changesCode reports whether a commit changes a Go file or a file such as go.mod.
func (h *history) changesCode(c commit) (bool, error) {
	against, _, _ := strings.Cut(c.parents, " ")
	if against == "" {
		return true, nil // the first commit
	}
	files, err := h.git("diff", "--name-only", "--no-renames", against, c.hash)
	for name := range strings.SplitSeq(files, "\n") {
		if strings.HasSuffix(name, ".go") || strings.HasPrefix(path.Base(name), "go.") {
			return true, err
		}
	}
	return false, err
}

// vets checks out the files of a commit into a folder of their own, vets them, which compiles all imported packages,
// and returns the failure, "" if there is none. It uses the build tag of the tests and leaves out the paths of
// folders (see toolFlags), so it shares Go's cached results of the steps build and vet for all packages that later
// commits do not change.
func (h *history) vets(c commit) (reason string, err error) {
	files := h.cache("tree")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return "", err
	}
	// With a separate index, so that the clone's stays unchanged.
	if _, err := h.in(h.root, []string{"GIT_INDEX_FILE=" + h.cache("index")}, "git", "--work-tree="+files, "read-tree", "--reset", "-u", c.hash); err != nil {
		return "", err
	}
	if out, err := h.in(files, []string{"GOWORK=" + workspace(files)}, "go", "vet", "-tags", h.run.tags, "-buildvcs=false", everything); h.run.ctx.Err() != nil {
		return "", h.run.ctx.Err()
	} else if err != nil {
		return "go vet fails\n" + out, nil
	}
	return "", nil
}

// workspace returns the go.work in the files of a commit. For a commit that is a single module it returns "off":
// otherwise the Go tool would use the go.work of the clone itself, in a parent folder.
func workspace(files string) string {
	work := filepath.Join(files, "go.work")
	if _, err := os.Stat(work); err != nil {
		return "off"
	}
	return work
}

// remembered returns the line by which a later run recognises a vetted commit: its tree, and the version of Go.
func remembered(c commit) string { return c.tree + " " + runtime.Version() }

// known returns the lines of commits vetted in earlier runs.
func (h *history) known() []string {
	lines, _ := os.ReadFile(h.cache("checked"))
	return strings.Split(string(lines), "\n")
}

// remember stores the line of a commit.
func (h *history) remember(c commit) error {
	f, err := os.OpenFile(h.cache("checked"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(remembered(c) + "\n")
	return errors.Join(err, f.Close())
}

// cache returns the path of a file that the step history keeps between runs.
func (h *history) cache(name string) string { return filepath.Join(h.root, ".cache", "history", name) }

// git runs git in the repository and returns its output.
func (h *history) git(args ...string) (string, error) { return h.in(h.root, nil, "git", args...) }

// in runs a command in a folder and returns its output.
func (h *history) in(dir string, env []string, name string, args ...string) (string, error) {
	cmd, end := h.run.command(name, args...)
	defer end()
	cmd.Dir, cmd.Env = dir, append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	text := string(bytes.TrimSpace(out))
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, args[0], err, text)
	}
	return text, err
}

// sameFolder reports whether two paths lead to the same folder.
func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
