package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// operationsBegin and operationsEnd are the marks in docs/fast.md around the table of operations, which is printed from
// the one in docs/performance.md, so that the two do not differ after the next measurement.
const (
	operationsBegin = "<!-- operations: printed by scripts/gendocs -->\n"
	operationsEnd   = "<!-- end of operations -->\n"
)

// renderOperations prints the first and the last column of the first table in the section Operations of a page.
// Errors: there is no such table.
func renderOperations(performance string) ([]byte, error) {
	text, err := os.ReadFile(performance)
	if err != nil {
		return nil, err
	}
	_, part, _ := strings.Cut(string(text), "\n## Operations\n")
	part, _, _ = strings.Cut(part, "\n## ")
	b := bytes.NewBufferString("| operation | per second and core |\n|---|---:|\n")
	rows := 0
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case len(cells) < 3 && rows > 0:
			return b.Bytes(), nil
		case len(cells) < 3 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| operation "):
		default:
			rows++
			clients := ""
			if n := strings.TrimSpace(cells[1]); n != "1" {
				clients = ", " + n + " clients"
			}
			fmt.Fprintf(b, "| %s%s | %s |\n", strings.TrimSpace(cells[0]), clients, strings.TrimSpace(cells[len(cells)-1]))
		}
	}
	return nil, fmt.Errorf("%s has no table of operations with text behind it", performance)
}
