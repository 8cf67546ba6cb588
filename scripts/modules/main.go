// Command modules keeps the Go modules of the workspace in step: their requirements of each other and of libraries,
// without a replacement in any go.mod, so that each module can be fetched by its own path.
//
//	go run ./scripts/modules                          tidy all of them
//	go run ./scripts/modules example.com/lib@v1.2.3   upgrade a library wherever it is required
//	go run ./scripts/modules -version v1.2.3          require each other by the version of the next release
//
// Its tests check the requirements, and the age of the modules that the program links: those older than a year are
// listed in old.txt, with the reason.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rootModule is the path of the module that importers of the server require, and the prefix of the paths of the other
// modules.
const rootModule = "github.com/cantledb/cantle"

// versionForm matches the versions that the Go tool accepts for a release.
var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)

func main() {
	version := flag.String("version", "", "the `version` by which modules of the repository require each other")
	flag.Parse()
	if err := run(*version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

// run executes the command line in the folder of go.work.
// Errors: errors of the Go tool; a wrong version.
func run(version string, libraries []string) error {
	if version != "" && !versionForm.MatchString(version) {
		return fmt.Errorf("%q is no version such as v0.2.0 or v0.2.0-rc.1", version)
	}
	w, err := readWorkspace(".")
	if err != nil {
		return err
	}
	if version != "" {
		if err := w.tie(version); err != nil {
			return err
		}
	}
	for _, m := range w.modules {
		if err := w.tidy(m, libraries); err != nil {
			return err
		}
	}
	return w.goTool(w.dir, "work", "sync")
}

// module is one module of the workspace.
type module struct {
	path, folder string          // the folder is slash-separated, from that of go.work
	requires     []requirement   // direct and indirect
	replaced     map[string]bool // paths
}

// requirement is a line of a go.mod.
type requirement struct {
	Path, Version string
	Indirect      bool
}

// workspace holds the contents of go.work and the go.mod files.
type workspace struct {
	dir      string // absolute
	modules  []module
	replaced []requirement // modules of the workspace, with the version in the go.mod files
}

// readWorkspace reads a workspace. Errors: errors of the Go tool.
func readWorkspace(dir string) (*workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	w := &workspace{dir: dir}
	var work struct {
		Use     []struct{ DiskPath string }
		Replace []struct{ Old requirement }
	}
	if err := w.read(dir, &work, "work", "edit", "-json"); err != nil {
		return nil, err
	}
	for _, r := range work.Replace {
		w.replaced = append(w.replaced, r.Old)
	}
	for _, use := range work.Use {
		var mod struct {
			Module  struct{ Path string }
			Require []requirement
			Replace []struct{ Old requirement }
		}
		if err := w.read(filepath.Join(dir, use.DiskPath), &mod, "mod", "edit", "-json"); err != nil {
			return nil, err
		}
		m := module{path: mod.Module.Path, folder: path.Clean(use.DiskPath), requires: mod.Require, replaced: map[string]bool{}}
		for _, r := range mod.Replace {
			m.replaced[r.Old.Path] = true
		}
		w.modules = append(w.modules, m)
	}
	return w, nil
}

// has reports whether a module is one of the workspace.
func (w *workspace) has(path string) bool {
	return slices.ContainsFunc(w.modules, func(m module) bool { return m.path == path })
}

// tie makes the modules of the workspace require each other by a version: it writes the version into each go.mod, and
// into go.work, because an unreleased version cannot be found anywhere else.
func (w *workspace) tie(version string) error {
	edit := []string{"work", "edit"}
	for _, r := range w.replaced {
		edit = append(edit, "-dropreplace="+r.Path+"@"+r.Version)
	}
	for _, m := range w.modules {
		edit = append(edit, "-replace="+m.path+"@"+version+"=./"+strings.TrimPrefix(m.folder, "."))
		var requires []string
		for _, r := range m.requires {
			if w.has(r.Path) {
				requires = append(requires, "-require="+r.Path+"@"+version)
			}
		}
		if len(requires) > 0 {
			if err := w.goTool(filepath.Join(w.dir, m.folder), slices.Concat([]string{"mod", "edit"}, requires)...); err != nil {
				return err
			}
		}
	}
	return w.goTool(w.dir, edit...)
}

// tidy upgrades those of the libraries that a module requires, and tidies the module's go.mod and go.sum. The Go tool
// ignores go.work in both steps, so it gets a copy of go.mod in which the other modules of the workspace are replaced
// by their folders.
func (w *workspace) tidy(m module, libraries []string) error {
	scratch, err := os.MkdirTemp("", "modules")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	folder := filepath.Join(w.dir, m.folder)
	mod, sum := filepath.Join(scratch, "go.mod"), filepath.Join(scratch, "go.sum")
	if err := errors.Join(copyFile(filepath.Join(folder, "go.mod"), mod), copyFile(filepath.Join(folder, "go.sum"), sum)); err != nil {
		return err
	}
	replace, restore := []string{"mod", "edit"}, []string{"mod", "edit"}
	for _, other := range w.modules {
		if other.path != m.path {
			replace = append(replace, "-replace="+other.path+"="+filepath.Join(w.dir, other.folder))
			restore = append(restore, "-dropreplace="+other.path)
		}
	}
	commands := [][]string{append(replace, mod)}
	for _, l := range libraries {
		name, _, _ := strings.Cut(l, "@")
		if slices.ContainsFunc(m.requires, func(r requirement) bool { return r.Path == name }) {
			commands = append(commands, []string{"get", "-modfile", mod, l})
		}
	}
	commands = append(commands, []string{"mod", "tidy", "-modfile", mod}, append(restore, mod))
	for _, args := range commands {
		if err := w.goTool(folder, args...); err != nil {
			return err
		}
	}
	return errors.Join(copyFile(mod, filepath.Join(folder, "go.mod")), copyFile(sum, filepath.Join(folder, "go.sum")))
}

// copyFile copies the file from over the file to. A missing file is no error: a module that requires no other has no
// go.sum.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// goTool runs the Go tool in a folder, and prints its output. A command about the workspace uses go.work; for any
// other, the folder counts as a single module.
func (w *workspace) goTool(folder string, args ...string) error {
	cmd := w.command(folder, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s in %s: %w", strings.Join(args, " "), folder, err)
	}
	return nil
}

// read runs the Go tool in a folder, and decodes the JSON object that the tool prints into the variable into.
func (w *workspace) read(folder string, into any, args ...string) error {
	text, err := w.command(folder, args...).Output()
	if err != nil {
		return fmt.Errorf("go %s in %s: %w", strings.Join(args, " "), folder, err)
	}
	return json.Unmarshal(text, into)
}

func (w *workspace) command(folder string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	work := "off"
	if args[0] == "work" {
		work = filepath.Join(w.dir, "go.work")
	}
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=", "GOWORK="+work)
	return cmd
}
