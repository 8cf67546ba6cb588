package cli

import (
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/serve/daemon"
)

// cantle version prints the version, with -v also the linked modules, and with --json an object for programs. Go
// records no modules in tests; packaging/release tests the modules of the program.
func TestVersion(t *testing.T) {
	ask := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if status := verbStatus(t, "version", "", &out, &errs, args...); status != 0 || errs.Len() > 0 {
			t.Fatalf("%q: status %d: %s", args, status, errs.String())
		}
		return out.String()
	}
	if text := ask(); !strings.HasPrefix(text, "cantle "+daemon.Version+"\n") || strings.Contains(text, "modules") {
		t.Errorf("it prints %q", text)
	}
	for _, flag := range []string{"-v", "--verbose"} {
		if text := ask(flag); !strings.HasPrefix(text, ask()) || !strings.Contains(text, "modules are linked") {
			t.Errorf("%s: it prints %q", flag, text)
		}
	}
	var got version
	if err := json.Unmarshal([]byte(ask("--json")), &got); err != nil || got.Version != daemon.Version || got.Go == "" || got.Modules == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// The commit that the Go tool has stamped is used unless a release has set one. If a module is replaced, the
// replacement is listed. The program's own modules are not listed.
func TestVersionOf(t *testing.T) {
	info := &debug.BuildInfo{
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}},
		Deps: []*debug.Module{{Path: ours, Version: "(devel)"}, {Path: ours + "/storage/tikvkv", Version: "v1.0.0"},
			{Path: "a.example/a", Version: "v1.0.0", Replace: &debug.Module{Path: "b.example/b", Version: "v2.0.0", Sum: "h1:x"}}},
	}
	v := versionOf(info)
	if v.Commit != "abc" || v.Date != "2026-01-02T03:04:05Z" || !slices.Equal(v.Modules, []linkedModule{{"b.example/b", "v2.0.0", "h1:x"}}) {
		t.Errorf("%+v", v)
	}
	var out strings.Builder
	if err := v.print(&out, true); err != nil || !strings.Contains(out.String(), "\ncommit abc\n") || !strings.HasSuffix(out.String(), "\n1 modules are linked:\n\nb.example/b  v2.0.0\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
	defer func(c, d string) { commit, date = c, d }(commit, date)
	commit, date = "def", "today"
	if v := versionOf(info); v.Commit != "def" || v.Date != "today" {
		t.Errorf("%+v", v)
	}
}
