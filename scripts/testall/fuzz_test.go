package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/testenv"
)

// TestFuzzCanary checks that the inputs of a run without --long are enough to find a planted bug: a parser of
// documents that does not compare the length in a document with the available bytes.
func TestFuzzCanary(t *testing.T) {
	if !testenv.IsLong() {
		t.Skip("it compiles a package with the fuzzer's instruments: CANTLE_LONG")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "bson", "parse.go")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const check = "if n < 5 || n > len(b) {"
	if strings.Count(string(source), check) != 1 {
		t.Fatalf("%s is not what it was: plant the bug elsewhere", file)
	}
	dir := t.TempDir()
	bug, overlay, program := filepath.Join(dir, "parse.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "bson.test")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: bug}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{bug: bytes.Replace(source, []byte(check), []byte("if n < 5 {"), 1), overlay: list} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-fuzz", "^FuzzParse$", "-overlay", overlay, "-vet=off", "-o", program, "./bson")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// In a folder of its own, because the fuzzer stores the input that it finds there.
	fuzz := exec.CommandContext(t.Context(), program, "-test.run", "^$", "-test.fuzz", "^FuzzParse$", "-test.fuzzcachedir", dir, "-test.fuzztime", fmt.Sprintf("%dx", fuzzInputs), "-test.parallel", "1")
	fuzz.Dir = dir
	out, err := fuzz.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("slice bounds out of range")) {
		t.Fatalf("%d inputs did not find it: %v\n%s", fuzzInputs, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "execs") || strings.Contains(line, "slice bounds") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
