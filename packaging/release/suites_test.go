package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fence matches a fenced code block of a Markdown page: its language and its code.
var fence = regexp.MustCompile("(?s)\n```([a-z]+)[^\n]*\n(.*?)```\n")

// All code in docs/test-suites.md except diffs, C# and commands of a shell is part of the files of testdata.
func TestSuitesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/test-suites.md")
	if err != nil {
		t.Fatal(err)
	}
	var run strings.Builder
	err = fs.WalkDir(os.DirFS("testdata"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("testdata", name))
		run.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		language, code := m[1], m[2]
		if language == "diff" || language == "csharp" || language == "sh" {
			continue
		}
		if shown++; !strings.Contains(run.String(), strings.TrimSpace(code)) {
			t.Errorf("no file of testdata has\n%s", code)
		}
	}
	if shown < 8 {
		t.Errorf("%d pieces of code were found", shown)
	}
}

// A JUnit test of a user starts the binary, and the recipe for Testcontainers compiles.
func TestJava(t *testing.T) {
	if os.Getenv("CANTLE_LONG") == "" {
		t.Skip("Maven fetches much; ./scripts/test --long does")
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		t.Skip("mvn is not here")
	}
	p := newProject(t, "java")
	p.env = []string{"CANTLE_BINARY=" + ready(t).binary(here)}
	p.run(t, "mvn", "-q", "-B", "test")
	if !exists(p.dir, "target", "test-classes", "shop", "CantleContainer.class") || !exists(p.dir, "target", "surefire-reports", "shop.OrdersTest.txt") {
		t.Error("Maven has not compiled and run everything")
	}
}
