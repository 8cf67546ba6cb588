package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// programsBegin and programsEnd are the marks in docs/programs.md around the table of programs, which is printed from
// the table and the scoreboard of compat-tests/clients/programs.
const (
	programsBegin = "<!-- programs: printed by scripts/gendocs -->\n"
	programsEnd   = "<!-- end of programs -->\n"
)

// registries are the names of package registries in programs.txt, as pages show them.
var registries = map[string]string{"npm": "npm", "pypi": "PyPI"}

// programRow holds the results of the test suite of one program.
type programRow struct {
	name, title, from, command string
	passed, failed, skipped    int
	reasons                    []string // of known failures, each with the number of tests
}

// readPrograms reads the programs and the results of their tests from the files in a folder. Programs without results
// are left out.
func readPrograms(folder string) ([]programRow, error) {
	table, err := os.ReadFile(filepath.Join(folder, "programs.txt"))
	if err != nil {
		return nil, err
	}
	board, err := os.ReadFile(filepath.Join(folder, "scoreboard.txt"))
	if err != nil {
		return nil, err
	}
	rows := parsePrograms(string(table))
	for i := range rows {
		if err := rows[i].score(string(board)); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// parsePrograms reads the names, titles, sources and commands from the text of programs.txt.
func parsePrograms(table string) (rows []programRow) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		if f[0] == "program" {
			rows = append(rows, programRow{name: f[1]})
			continue
		}
		row := &rows[len(rows)-1]
		switch f[0] {
		case "title":
			row.title = strings.Join(f[1:], " ")
		case "from":
			row.from = fmt.Sprintf("%s `%s` %s", registries[f[1]], f[2], f[3])
		case "test":
			row.command = "`" + strings.Join(f[1:], " ") + "`"
		}
	}
	return rows
}

// score reads the results of a program from the text of scoreboard.txt.
// Errors: the program has no results.
func (r *programRow) score(board string) error {
	counts, ok := map[string]int{}, false
	for line := range strings.Lines(board) {
		if name, rest, _ := strings.Cut(line, " "); name == r.name {
			_, err := fmt.Sscan(rest, &r.passed, &r.failed, &r.skipped)
			ok = err == nil
		}
		if test, reason, found := strings.Cut(strings.TrimSpace(line), ": "); found && strings.HasPrefix(test, r.name+"::") {
			if counts[reason] == 0 {
				r.reasons = append(r.reasons, reason)
			}
			counts[reason]++
		}
	}
	if !ok {
		return fmt.Errorf("scoreboard.txt has no row for the program %s", r.name)
	}
	slices.SortStableFunc(r.reasons, func(a, b string) int { return counts[b] - counts[a] })
	for i, reason := range r.reasons {
		r.reasons[i] = fmt.Sprintf("%d: %s", counts[reason], reason)
	}
	return nil
}

// renderPrograms prints the results as Markdown.
func renderPrograms(rows []programRow) []byte {
	var b bytes.Buffer
	var passed, failed, skipped int
	b.WriteString("| Program | From | Its tests | Passed | Failed | Skipped | Why tests fail |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		passed, failed, skipped = passed+r.passed, failed+r.failed, skipped+r.skipped
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d | %s |\n", r.title, r.from, strings.ReplaceAll(r.command, "|", `\|`), r.passed, r.failed, r.skipped,
			strings.ReplaceAll(strings.Join(r.reasons, "; "), "|", `\|`))
	}
	fmt.Fprintf(&b, "| %d programs | | | %d | %d | %d | |\n", len(rows), passed, failed, skipped)
	return b.Bytes()
}
