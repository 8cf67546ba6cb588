package main

import (
	"path/filepath"
	"testing"
)

// TestInStep fails if codes_gen.go was not generated from the codes.txt beside it.
func TestInStep(t *testing.T) {
	if err := run(filepath.Join("..", "..", "collection", "mongoerr"), true); err != nil {
		t.Error(err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"columns":    "1 A -\n",
		"number":     "x A - manual\n",
		"order":      "2 A - manual\n1 B - manual\n",
		"same code":  "1 A - manual\n1 B - manual\n",
		"name twice": "1 A - manual\n2 A - manual\n",
	} {
		if rows, err := parse([]byte(text)); err == nil {
			t.Errorf("%s: accepted %v", name, rows)
		}
	}
}
