package main

import (
	"strings"
	"testing"
)

// TestRenderPrograms checks the table that is printed from the table and the scoreboard of programs.
func TestRenderPrograms(t *testing.T) {
	rows := parsePrograms("# words\n\nprogram a-b\ntitle   AB\nfrom    pypi a.b 1.2\ntest    pytest tests -m x|y\n\nprogram a\nfrom    npm @c/a 3\ntest    mocha\n")
	board := "a 1 0 2\na-b 5 3 0\n# Known failures: test: reason\na-b::x::y: slow: yes\na-b::z: other\na-b::w: slow: yes\n"
	for i := range rows {
		if err := rows[i].score(board); err != nil {
			t.Fatal(err)
		}
	}
	got := string(renderPrograms(rows))
	for _, want := range []string{
		"| AB | PyPI `a.b` 1.2 | `pytest tests -m x\\|y` | 5 | 3 | 0 | 2: slow: yes; 1: other |\n",
		"|  | npm `@c/a` 3 | `mocha` | 1 | 0 | 2 |  |\n",
		"| 2 programs | | | 6 | 3 | 2 | |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if err := rows[0].score("a-bc 1 2 3\n"); err == nil {
		t.Error("a program without results has a row")
	}
}
