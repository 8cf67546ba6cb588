package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOptions checks that the page of differences has every option which the code accepts without effect, and no other
// one; and that the code has the errors of the options which the page calls refused.
func TestOptions(t *testing.T) {
	root := filepath.Join("..", "..")
	found, err := optionsWithoutEffect(root)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	for _, o := range withoutEffect {
		told[o.file] = append(told[o.file], strings.Fields(o.names)...)
	}
	count := 0
	for file, names := range found {
		for _, name := range names {
			if count++; !slices.Contains(told[file], name) {
				t.Errorf("%s accepts %s without effect: add a row with the reason to withoutEffect", file, name)
			}
		}
	}
	for file, names := range told {
		for _, name := range names {
			if !slices.Contains(found[file], name) {
				t.Errorf("%s has no option %s without effect: remove it from withoutEffect", file, name)
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d options were found", count)
	}
	for _, o := range refusedOptions {
		text, err := os.ReadFile(filepath.Join(root, "wire", "command", o.file))
		if err != nil || !strings.Contains(string(text), o.text) {
			t.Errorf("%s does not refuse %s: %v", o.file, o.names, err)
		}
	}
}
