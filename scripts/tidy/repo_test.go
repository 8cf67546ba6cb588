package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// modulePath is the path of the root module in go.mod, and the prefix of the paths of the other modules.
const modulePath = "github.com/cantledb/cantle"

// rig lists the folders of tests and of tools for the repository, which are not part of the server or its program.
var rig = []string{"compat-tests", "internal", "scripts", "storage/tikvkv/tikvfake"}

// isRig reports whether a package is not part of the product.
func isRig(dir string) bool { return under(dir, rig...) }

// file is one parsed Go file.
type file struct {
	path   string // slash-separated, relative to the root
	dir    string // the package: "collection/match"
	test   bool   // ends in _test.go
	source []byte
	syntax *ast.File
}

// repo holds everything that the rules check.
type repo struct {
	fsys  fs.FS
	set   *token.FileSet
	files []*file
}

// load parses every Go file of the workspace below fsys. It leaves out directories that the Go tool ignores, and
// modules that are not in go.work.
func load(fsys fs.FS) (*repo, error) {
	r := &repo{fsys: fsys, set: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && ignored(fsys, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		return r.add(name)
	})
	return r, err
}

// ignored reports whether a directory has no package of the workspace.
func ignored(fsys fs.FS, name string) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "node_modules" {
		return true
	}
	if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err != nil {
		return false
	}
	work, err := fs.ReadFile(fsys, "go.work")
	return err != nil || !strings.Contains(string(work), "\n\t./"+name+"\n")
}

// add parses one file.
func (r *repo) add(name string) error {
	source, err := fs.ReadFile(r.fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(r.set, name, source, parser.ParseComments)
	if err != nil {
		return err
	}
	r.files = append(r.files, &file{
		path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), source: source, syntax: syntax,
	})
	return nil
}

// packages returns the directories that have Go files, sorted.
func (r *repo) packages() []string {
	var out []string
	for _, f := range r.files {
		out = append(out, f.dir)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// product returns the files of the server itself: without tests, the rig, the commands (cmd), and the folder serve,
// which is the process around a server.
func (r *repo) product() []*file {
	var out []*file
	for _, f := range r.files {
		if !f.test && !isRig(f.dir) && !under(f.dir, "cmd", "serve") {
			out = append(out, f)
		}
	}
	return out
}

// imports returns the import paths of a file with their positions.
func (f *file) imports() map[string]token.Pos {
	out := map[string]token.Pos{}
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = spec.Pos()
		}
	}
	return out
}

// importName returns the name under which a file imports the package with a path, "" if it does not import the
// package.
func (f *file) importName(importPath string) string {
	for _, spec := range f.syntax.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == importPath {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(p)
		}
	}
	return ""
}

// uses calls found for every use of a name of an imported package in a file, for the given names.
func (f *file) uses(importPath string, names []string, found func(pos token.Pos, name string)) {
	local := f.importName(importPath)
	if local == "" {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == local && x.Obj == nil && slices.Contains(names, s.Sel.Name) {
			found(s.Pos(), s.Sel.Name)
		}
		return true
	})
}

// ours returns the package of the repository that an import path names, as a folder relative to the root; ok is false
// for the root package and packages of other projects.
func ours(importPath string) (dir string, ok bool) {
	return strings.CutPrefix(importPath, modulePath+"/")
}

// under reports whether a folder is one of roots or lies below one.
func under(dir string, roots ...string) bool {
	for _, root := range roots {
		if dir == root || strings.HasPrefix(dir, root+"/") {
			return true
		}
	}
	return false
}

// position formats a position in a file.
func (r *repo) position(pos token.Pos) string {
	p := r.set.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
