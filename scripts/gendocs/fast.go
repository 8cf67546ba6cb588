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
	part, _ := section(string(text), "## Operations")
	b := bytes.NewBufferString("| operation | per second and core |\n|---|---:|\n")
	rows := 0
	for line := range strings.Lines(part) {
		cells := cellsOf(line)
		switch {
		case len(cells) < 3 && rows > 0:
			return b.Bytes(), nil
		case len(cells) < 3 || strings.HasPrefix(cells[0], "---") || cells[0] == "operation":
		default:
			rows++
			clients := ""
			if n := cells[1]; n != "1" {
				clients = ", " + n + " clients"
			}
			fmt.Fprintf(b, "| %s%s | %s |\n", cells[0], clients, cells[len(cells)-1])
		}
	}
	return nil, fmt.Errorf("%s has no table of operations with text behind it", performance)
}
