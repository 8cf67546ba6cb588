package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// clientsBegin and clientsEnd are the marks in README.md around the table of clients, which is printed from the
// matrix of compat-tests/clients/drivers.
const (
	clientsBegin = "<!-- clients: printed by scripts/gendocs -->\n"
	clientsEnd   = "<!-- end of clients -->\n"
)

// clientRow holds the test results of one client.
type clientRow struct {
	name, title string
	results     map[string][]string // by area: the result of each variant
}

// readClients reads the matrix of the test results of clients. areas are the tested areas, in the order in which they
// first appear.
func readClients(path string) (rows []clientRow, areas []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2 || f[0] == "#":
		case f[0] == "row":
			rows = append(rows, clientRow{name: f[1], title: strings.Join(f[2:], " "), results: map[string][]string{}})
		case len(rows) == 0 || rows[len(rows)-1].name != f[0]:
			return nil, nil, fmt.Errorf("%s: %q belongs to no row", path, line)
		default:
			if !slices.Contains(areas, f[1]) {
				areas = append(areas, f[1])
			}
			for _, r := range f[2:] {
				_, result, _ := strings.Cut(r, "=")
				rows[len(rows)-1].results[f[1]] = append(rows[len(rows)-1].results[f[1]], result)
			}
		}
	}
	return rows, areas, nil
}

// renderClients prints the matrix as Markdown, a column for each client.
func renderClients(rows []clientRow, areas []string) []byte {
	var b bytes.Buffer
	b.WriteString("| |")
	for _, r := range rows {
		fmt.Fprintf(&b, " %s |", r.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(rows)) + "\n")
	for _, area := range areas {
		fmt.Fprintf(&b, "| %s |", area)
		for _, r := range rows {
			fmt.Fprintf(&b, " %s |", cell(r.results[area]))
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

// cell sums up the results of the variants.
func cell(results []string) string {
	switch {
	case len(results) == 0:
		return ""
	case slices.Contains(results, "FAIL"):
		return "✗"
	case slices.Contains(results, "skip"):
		return "(✓)"
	}
	return "✓"
}

// insert writes a generated part into the file of a document, between two marks. If check is set, it compares
// instead.
func insert(path, begin, end string, part []byte, check bool) error {
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := between(doc, begin, end, part)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return write(path, text, check)
}

// between returns a document in which part replaces the text between two marks.
// Errors: a mark is missing.
func between(doc []byte, begin, end string, part []byte) ([]byte, error) {
	head, rest, ok := bytes.Cut(doc, []byte(begin))
	_, tail, ends := bytes.Cut(rest, []byte(end))
	if !ok || !ends {
		return nil, fmt.Errorf("there is no %q with %q behind it", begin, end)
	}
	return slices.Concat(head, []byte(begin), part, []byte(end), tail), nil
}
