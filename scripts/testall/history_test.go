package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// repository is a git repository of one small module.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) *repository {
	r := &repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "test")
	r.git("config", "user.email", "test@localhost")
	r.write("go.mod", "module m\n\ngo 1.24\n")
	r.write("a.go", "package m\n\nfunc A() int { return B() }\n")
	r.write("b.go", "package m\n\nfunc B() int { return 1 }\n")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.root, name), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// commit commits all files and returns the hash.
func (r *repository) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A", "--", ":!.cache")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

// check runs the check of the commits after start, and returns the faults and the description of the checked commits.
// change, if not nil, changes the settings of the check.
func (r *repository) check(start string, change func(*history)) (found []string, said string) {
	r.t.Helper()
	h := &history{run: &run{ctx: r.t.Context()}, root: r.root, start: start, budget: time.Hour}
	if change != nil {
		change(h)
	}
	found, err := h.check()
	if err != nil {
		r.t.Fatal(err)
	}
	return found, h.said
}

// expect compares the result of a check with the wanted one: the description, and for each fault its beginning and a
// part of the rest.
func (r *repository) expect(start string, change func(*history), said string, want ...[2]string) {
	r.t.Helper()
	found, got := r.check(start, change)
	if got != said {
		r.t.Errorf("said %q, want %q", got, said)
	}
	if len(found) != len(want) {
		r.t.Fatalf("found %q, want %q", found, want)
	}
	for i, f := range found {
		if !strings.HasPrefix(f, want[i][0][:7]) || !strings.Contains(f, want[i][1]) {
			r.t.Errorf("found %q, want %q", f, want[i])
		}
	}
}

// A commit that does not compile is found even if the next one fixes it, and so is a commit that fails vet. Commits
// that passed go vet in an earlier run are not vetted again.
func TestHistoryFindsBrokenCommits(t *testing.T) {
	r := newRepository(t)
	start := r.commit("m: first\n\nWhy.")
	r.write("b.go", "package m\n")
	broken := r.commit("m: B goes\n\nWhy.")
	r.write("a.go", "package m\n\nimport \"fmt\"\n\nfunc A() { fmt.Printf(\"%d\", \"x\") }\n")
	unvetted := r.commit("m: A prints\n\nWhy.")
	r.write("a.go", "package m\n\nfunc A() int { return 2 }\n")
	r.commit("m: A is two\n\nWhy.")
	r.write("README", "words")
	r.commit("docs: words\n\nWhy.")

	faults := [][2]string{{unvetted, "go vet fails"}, {broken, "go vet fails"}}
	since := "4 commits since " + start[:7] + ": "
	r.expect(start, nil, since+"3 vetted, 0 vetted by another step or an earlier run, 1 change no code", faults...)
	r.expect(start, nil, since+"2 vetted, 1 vetted by another step or an earlier run, 1 change no code", faults...)
	if got := r.git("status", "--porcelain", "--untracked-files=no"); got != "" {
		t.Errorf("the clone has changed: %s", got)
	}
}

// A repository that was divided into several modules has commits from before the division: each commit is vetted with
// its own go.work, or without one, and in all its modules.
func TestHistoryAcrossWorkspaces(t *testing.T) {
	r := newRepository(t)
	start := r.commit("m: first\n\nWhy.")
	r.write("b.go", "package m\n")
	single := r.commit("m: B goes from the single module\n\nWhy.")
	r.write("b.go", "package m\n\nfunc B() int { return 1 }\n")
	if err := os.Mkdir(filepath.Join(r.root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("go.work", "go 1.24\n\nuse (\n\t.\n\t./sub\n)\n")
	r.write("sub/go.mod", "module m/sub\n\ngo 1.24\n")
	r.write("sub/sub.go", "package sub\n\nimport \"m\"\n\nvar A = m.A()\n")
	r.commit("m: two modules\n\nWhy.")
	r.write("sub/go.mod", "module m/other\n\ngo 1.24\n\nrequire m v0.0.0\n")
	r.write("sub/sub.go", "package sub\n\nimport \"m\"\n\nvar A = m.C()\n")
	inner := r.commit("m: sub calls what there is not\n\nWhy.")
	r.write("sub/go.mod", "module m/sub\n\ngo 1.24\n\ntoolchain none\n")
	mod := r.commit("m: a go.mod alone\n\nWhy.")
	r.expect(start, nil, "4 commits since "+start[:7]+": 4 vetted, 0 vetted by another step or an earlier run, 0 change no code",
		[2]string{mod, "go vet fails"}, [2]string{inner, "go vet fails"}, [2]string{single, "go vet fails"})
}

// Commits that were not vetted, for lack of time or on main, are counted.
func TestHistoryReportsWhatItSkips(t *testing.T) {
	r := newRepository(t)
	start := r.commit("m: first\n\nWhy.")
	for _, n := range []string{"1", "2", "3"} {
		r.write("c.go", "package m\n\nconst C = "+n+"\n")
		r.commit("m: C is " + n + "\n\nWhy.")
	}
	since := " commits since " + start[:7] + ": "
	r.expect(start, func(h *history) { h.budget = 0 },
		"3"+since+"0 vetted, 0 vetted by another step or an earlier run, 0 change no code; NOT vetted: 3, which --long does")
	r.expect(start, func(h *history) { h.current = r.git("rev-parse", "HEAD") },
		"3"+since+"2 vetted, 1 vetted by another step or an earlier run, 0 change no code")
}

// The message of a commit must name packages, a change and a reason.
func TestHistoryReadsMessages(t *testing.T) {
	r := newRepository(t)
	start := r.commit("m: first\n\nWhy.")
	want := [][2]string{
		{r.commit("one piece where two stood\n\nWhy."), "not of the form"},
		{r.commit("m: it says not why"), "no body"},
		{r.commit("m: " + strings.Repeat("ä", 118) + "\n\nWhy."), "has 121 characters"},
	}
	r.commit("m, n/o: " + strings.Repeat("ä", 112) + "\n\nWhy.")
	r.git("checkout", "-q", "-b", "side", start)
	r.commit("m: beside\n\nWhy.")
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "Merge branch side", "side")

	found, _ := r.check(start, nil)
	if len(found) != len(want) {
		t.Fatalf("found %q", found)
	}
	for i, f := range found {
		if w := want[len(want)-1-i]; !strings.HasPrefix(f, w[0][:7]) || !strings.Contains(f, w[1]) {
			t.Errorf("found %q, want %q", f, w)
		}
	}
}

// New are the commits that a branch adds to origin/main; on main itself, those after the recorded commit.
func TestHistoryBegins(t *testing.T) {
	r := newRepository(t)
	start := r.commit("m: first\n\nWhy.")
	second := r.commit("m: second\n\nWhy.")
	nothing := ": 0 vetted, 0 vetted by another step or an earlier run, 1 change no code"
	r.expect(start, nil, "1 commits since "+start[:7]+nothing)
	r.git("update-ref", "refs/remotes/origin/main", second)
	r.expect(start, nil, "1 commits since "+start[:7]+nothing)
	r.commit("m: third\n\nWhy.")
	r.expect(start, nil, "1 commits since origin/main"+nothing)

	absent := strings.Repeat("1", 40)
	r.git("update-ref", "-d", "refs/remotes/origin/main")
	r.expect(absent, nil, "no commit was checked: this history does not have 1111111")
	shallow := &repository{t, t.TempDir()}
	r.git("clone", "-q", "--depth", "1", "file://"+r.root, shallow.root)
	shallow.git("remote", "remove", "origin")
	shallow.expect(start, nil, "no commit was checked: this clone is shallow and ends before "+start[:7])
	within := &repository{t, filepath.Join(r.root, "within")}
	if err := os.Mkdir(within.root, 0o755); err != nil {
		t.Fatal(err)
	}
	within.expect(start, nil, "no commit was checked: this is no clone of the repository")
}

func TestHistoryStart(t *testing.T) {
	if got := lastLine(historyStart); !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(got) {
		t.Errorf("history.txt ends with %q, which is no commit", got)
	}
}
