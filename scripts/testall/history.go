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
	historyTime = 30 * time.Second // after which no further commit is vetted, if it is not a night
	subjectMax  = 120              // characters of a commit's subject
)

// historyStart is the file that names the commit after which commits are new.
//
//go:embed history.txt
var historyStart string

// history checks that every new commit vets, and so compiles, and says what it changed, so that
// a fault can be searched by bisection and a change can be understood later.
func (r *run) history() error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	h := history{run: r, root: root, start: lastLine(historyStart), budget: historyTime}
	if r.speed == night {
		h.budget = 24 * time.Hour
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

// history is one look at the new commits of a repository.
type history struct {
	run    *run
	root   string        // root is the folder of the repository
	start  string        // start is the commit after which commits are new, unless origin/main is one
	budget time.Duration // budget is the time after which no further commit is vetted

	// current is the commit whose files are those of the folder: other steps compile and vet them.
	current string

	said string // said is what was checked and what was not, for people
}

// commit is one of the commits looked at.
type commit struct{ hash, tree, parents, subject, body string }

func (c commit) String() string { return c.hash[:7] + " " + c.subject }

// check looks at the new commits, the newest first, and returns what is wrong with them,
// each with its reasons behind the first line.
// Errors: what git cannot do; a repository whose history is not here is no error.
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
		case time.Since(begun) > h.budget:
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
		h.said += fmt.Sprintf("; NOT checked but for their messages: %d for want of time", left)
	}
	return found, nil
}

// base is the commit after which commits are new, or why there is none: what a branch
// adds to the main one, or what the main one has since the recorded commit.
func (h *history) base() (base, why string) {
	if top, err := h.git("rev-parse", "--show-toplevel"); err != nil || !sameFolder(top, h.root) {
		return "", "this is no clone of the repository"
	}
	if n, err := h.git("rev-list", "--count", "origin/main..HEAD"); err == nil && n != "0" {
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

// subjectForm is how a subject begins: with the rooms that changed.
var subjectForm = regexp.MustCompile(`^[^\s:][^:]*: \S`)

// misworded says what is wrong with the message of a commit. Merges are worded by git.
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

// changesCode reports whether a commit changes anything that is compiled.
func (h *history) changesCode(c commit) (bool, error) {
	against, _, _ := strings.Cut(c.parents, " ")
	if against == "" {
		return true, nil // the first of all
	}
	files, err := h.git("diff", "--name-only", "--no-renames", against, c.hash)
	for name := range strings.SplitSeq(files, "\n") {
		if strings.HasSuffix(name, ".go") || strings.HasPrefix(path.Base(name), "go.") {
			return true, err
		}
	}
	return false, err
}

// vets takes the files of a commit out into a folder of their own, vets them, for which all that
// others import is compiled, and returns what is wrong. With the tag of tests it shares what the steps build and vet
// have done for all packages that the commits after it leave as they are: paths of folders are left out (see releaseFlags).
func (h *history) vets(c commit) (reason string, err error) {
	files := h.cache("tree")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return "", err
	}
	// With an index of its own, so that the clone's stays as it is.
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

// workspace is the go.work of a commit's files, "off" for a commit that is a single module: the Go tool would take
// the clone's own, which lies above them.
func workspace(files string) string {
	work := filepath.Join(files, "go.work")
	if _, err := os.Stat(work); err != nil {
		return "off"
	}
	return work
}

// remembered is the line by which a commit that vets is known later: what it holds, and
// what compiled it.
func remembered(c commit) string { return c.tree + " " + runtime.Version() }

// known returns the lines of the commits that were vetted in earlier runs.
func (h *history) known() []string {
	lines, _ := os.ReadFile(h.cache("checked"))
	return strings.Split(string(lines), "\n")
}

// remember adds the line of a commit to those that are known.
func (h *history) remember(c commit) error {
	f, err := os.OpenFile(h.cache("checked"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(remembered(c) + "\n")
	return errors.Join(err, f.Close())
}

// cache is the path of a file that is kept between runs.
func (h *history) cache(name string) string { return filepath.Join(h.root, ".cache", "history", name) }

// git runs git in the repository and returns what it prints.
func (h *history) git(args ...string) (string, error) { return h.in(h.root, nil, "git", args...) }

// in runs a command in a folder and returns all it prints.
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
