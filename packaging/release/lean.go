package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The linker leaves out methods that nobody calls, unless some function looks methods up
// by reflection: then any exported method of any type may be called, and all stay. There
// is one such function, in goja: it shows the methods of Go values to JavaScript, and the
// server hands no Go value with methods to it. Without it the program is an eighth smaller.
const (
	leanModule = "github.com/dop251/goja"
	leanFile   = "object_goreflect.go"
)

// leanChanges are what is changed in leanFile. Each must be found exactly once, so that a
// new version of the library that has changed there stops a release.
var leanChanges = []struct{ from, to string }{
	{"\tn := t.NumMethod()\n", "\tn := 0\n"},
	{"\t\tmethod := t.Method(i)\n", "\t\tvar method reflect.Method\n"},
	{"if idx, exists := o.methodsInfo.Methods[jsName]; exists {\n\t\t\treturn o.methodsValue.Method(idx)\n",
		"if _, exists := o.methodsInfo.Methods[jsName]; exists {\n\t\t\treturn reflect.Value{}\n"},
}

// lean makes a copy of the module that looks no methods up, and a go.mod that takes it. It
// returns that file's path. Both lie below .cache, at places that are the same in every
// checkout, as the binary names them.
func (r *release) lean() (mod string, err error) {
	const at = ".cache/release-modules"
	if err := os.RemoveAll(filepath.Join(r.root, at)); err != nil {
		return "", err
	}
	from, err := r.command(nil, "go", "list", "-m", "-f", "{{.Dir}}", leanModule)
	if err != nil {
		return "", err
	}
	if from == "" { // not downloaded yet
		if _, err := r.command(nil, "go", "mod", "download", leanModule); err != nil {
			return "", err
		}
		if from, err = r.command(nil, "go", "list", "-m", "-f", "{{.Dir}}", leanModule); err != nil {
			return "", err
		}
	}
	to := filepath.Join(r.root, at, "goja")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", err
	}
	file := filepath.Join(to, leanFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	source := string(text)
	for _, c := range leanChanges {
		if n := strings.Count(source, c.from); n != 1 {
			return "", fmt.Errorf("%s of %s has %d times %q: see packaging/release/lean.go", leanFile, leanModule, n, c.from)
		}
		source = strings.Replace(source, c.from, c.to, 1)
	}
	if err := rewrite(file, source); err != nil {
		return "", err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(r.root, at, name), text, 0o644); err != nil {
			return "", err
		}
	}
	mod = filepath.Join(r.root, at, "go.mod")
	_, err = r.command(nil, "go", "mod", "edit", "-replace", leanModule+"=./"+at+"/goja", mod)
	return mod, err
}

// rewrite replaces a file, which may be one that nobody may write to.
func rewrite(file, text string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
