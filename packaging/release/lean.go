package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A library brings along what the server never calls, and some of it the linker cannot
// know to be dead. For the binaries that are released, such libraries are replaced: by
// copies with small changes, or by modules of this repository with the few names that are
// used of them.

// leanModule is a library that is replaced.
type leanModule struct {
	path string
	// note is what a bill of materials says of it.
	note string
	// stub is a folder beside this file with what takes the place of the library, if no copy.
	stub string
	// change changes the copy in a folder.
	change func(dir string) error
	// isUsedWith are build tags with which the library is used in earnest.
	isUsedWith []string
}

// leanModules are all that are replaced.
var leanModules = []leanModule{
	// cockroachdb/errors can send errors to other processes, and Pebble uses it for other
	// things.
	{path: "github.com/gogo/protobuf", stub: "lean/gogo", isUsedWith: []string{"tikv"},
		note: "replaced by packaging/release/lean/gogo: errors are never sent as protobuf"},
	// The messages of Prometheus's client are protobuf's, and printed as text. (Pebble uses
	// that client, too.)
	{path: "google.golang.org/protobuf", stub: "lean/protobuf", isUsedWith: []string{"tikv"},
		note: "replaced by packaging/release/lean/protobuf: metrics are never sent as protobuf"},
	// The linker leaves out methods that nobody calls, unless some function looks methods up
	// by reflection: then any exported method of any type may be called, and all stay. There
	// is one such function: it shows the methods of Go values to JavaScript, and the server
	// hands no Go value with methods to it.
	{path: "github.com/dop251/goja", change: edits("object_goreflect.go",
		edit{"\tn := t.NumMethod()\n", "\tn := 0\n"},
		edit{"\t\tmethod := t.Method(i)\n", "\t\tvar method reflect.Method\n"},
		edit{"if idx, exists := o.methodsInfo.Methods[jsName]; exists {\n\t\t\treturn o.methodsValue.Method(idx)\n",
			"if _, exists := o.methodsInfo.Methods[jsName]; exists {\n\t\t\treturn reflect.Value{}\n"}),
		note: "built without the lookup of Go methods by reflection"},
	// Two tables that SASLprep, which is all that is used, does not need are filled by code.
	{path: "github.com/xdg-go/stringprep", change: edits("tables.go",
		edit{"\nvar TableB2 Mapping = tableB2\n", "\n"},
		edit{"\nvar TableB3 Mapping = tableB3\n", "\n"}),
		note: "built without the tables B.2 and B.3 of RFC 3454"},
	// Pebble can have tables compressed by MinLZ, at two of its levels.
	{path: "github.com/minio/minlz", change: edits("encode.go",
		edit{"\tcase LevelSmallest:\n\t\tn = encodeBlockBest(dst[d:], src, nil)\n\tdefault:\n\t\treturn nil, ErrInvalidLevel\n",
			"\tdefault:\n\t\treturn nil, ErrInvalidLevel\n"}),
		note: "built without its third level, LevelSmallest, which Pebble does not use"},
	// The weights of all characters in all languages: a megabyte, which is compressed.
	{path: "golang.org/x/text", change: packCollation,
		note: "the table of collation weights is compressed, and unpacked when it is first used"},
}

// leanNote is what a bill of materials says of a library that was replaced.
func leanNote(path string) string {
	i := slices.IndexFunc(leanModules, func(m leanModule) bool { return m.path == path })
	return leanModules[i].note
}

// edit is a change of a text, whose old part must be found exactly once: a new version of a
// library that has changed there stops a release.
type edit struct{ from, to string }

// edits returns the change of a file of a library.
func edits(name string, all ...edit) func(string) error {
	return func(dir string) error {
		file := filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		source := string(text)
		for _, e := range all {
			if n := strings.Count(source, e.from); n != 1 {
				return fmt.Errorf("%s has %d times %q: see packaging/release/lean.go", name, n, e.from)
			}
			source = strings.Replace(source, e.from, e.to, 1)
		}
		return rewrite(file, source)
	}
}

// The table of weights in golang.org/x/text/collate, and an entry of it.
var (
	weights     = regexp.MustCompile(`(?s)\nvar mainValues = \[(\d+)\]uint32\{\n(.*?)\n\}\n`)
	weightEntry = regexp.MustCompile(`(0x[0-9a-f]+): (0x[0-9a-f]+),`)
)

// weightsFile is the file that unpacks the table.
const weightsFile = `package collate

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/binary"
	"sync"
)

//go:embed values.z
var packedValues []byte

var mainValues = sync.OnceValue(func() []uint32 {
	values := make([]uint32, %d)
	z, err := zlib.NewReader(bytes.NewReader(packedValues))
	if err == nil {
		err = binary.Read(z, binary.LittleEndian, values)
	}
	if err != nil {
		panic(err) // the table is a part of the program
	}
	return values
})
`

// packCollation compresses the table of weights.
func packCollation(dir string) error {
	dir = filepath.Join(dir, "collate")
	if err := edits("index.go", edit{"mainValues[:][blockSize", "mainValues()[blockSize"}, edit{"mainValues[:],", "mainValues(),"})(dir); err != nil {
		return err
	}
	file := filepath.Join(dir, "tables.go")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	table := weights.FindSubmatchIndex(text)
	if table == nil {
		return fmt.Errorf("%s has no table mainValues: see packaging/release/lean.go", file)
	}
	length, err := strconv.Atoi(string(text[table[2]:table[3]]))
	if err != nil {
		return err
	}
	values, err := readWeights(text[table[4]:table[5]], length)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestCompression)
	if err != nil {
		return err
	}
	if err := binary.Write(z, binary.LittleEndian, values); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "values.z"), packed.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "values.go"), fmt.Appendf(nil, weightsFile, length), 0o644); err != nil {
		return err
	}
	return rewrite(file, string(text[:table[0]])+"\n"+string(text[table[1]:]))
}

// readWeights reads the entries of the table; those that are not named are zero.
func readWeights(source []byte, length int) ([]uint32, error) {
	found := weightEntry.FindAllSubmatch(source, -1)
	if n := bytes.Count(source, []byte("0x")) - 2*bytes.Count(source, []byte("// Block")); n != 2*len(found) {
		return nil, fmt.Errorf("%d of %d numbers in the table of collation weights were understood", 2*len(found), n)
	}
	values := make([]uint32, length)
	for _, m := range found {
		at, err := strconv.ParseUint(string(m[1]), 0, 32)
		if err != nil || at >= uint64(length) {
			return nil, fmt.Errorf("the table of collation weights has an entry at %s", m[1])
		}
		value, err := strconv.ParseUint(string(m[2]), 0, 32)
		if err != nil {
			return nil, err
		}
		values[at] = uint32(value)
	}
	return values, nil
}

// lean makes the modules that replace others in a build with these tags, and a go.mod that
// takes them. It returns that file's path. All lies at places that are the same in every
// checkout, as the binary names them.
func (r *release) lean(tags ...string) (mod string, err error) {
	at := strings.Join(append([]string{".cache/release-modules"}, tags...), "-")
	if err := os.RemoveAll(filepath.Join(r.root, at)); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(r.root, at), 0o755); err != nil {
		return "", err
	}
	edit := []string{"mod", "edit"}
	for _, m := range leanModules {
		if slices.ContainsFunc(m.isUsedWith, func(tag string) bool { return slices.Contains(tags, tag) }) {
			continue
		}
		place := "packaging/release/" + m.stub
		if m.stub == "" {
			place = at + "/" + filepath.Base(m.path)
			if err := r.leanCopy(m, place); err != nil {
				return "", err
			}
		}
		edit = append(edit, "-replace", m.path+"=./"+place)
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
	_, err = r.command(nil, "go", append(edit, mod)...)
	return mod, err
}

// leanCopy makes the changed copy of a module.
func (r *release) leanCopy(m leanModule, place string) error {
	from, err := r.command(nil, "go", "list", "-m", "-f", "{{.Dir}}", m.path)
	if err != nil {
		return err
	}
	if from == "" { // not downloaded yet
		if _, err := r.command(nil, "go", "mod", "download", m.path); err != nil {
			return err
		}
		if from, err = r.command(nil, "go", "list", "-m", "-f", "{{.Dir}}", m.path); err != nil {
			return err
		}
	}
	to := filepath.Join(r.root, place)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return m.change(to)
}

// rewrite replaces a file, which may be one that nobody may write to.
func rewrite(file, text string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
