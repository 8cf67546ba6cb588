package main

import "strings"

// section returns the text of a Markdown page below a heading, such as "## Operations", up to the next heading of the
// same level. It reports whether the page has the heading.
func section(page, heading string) (string, bool) {
	_, text, ok := strings.Cut(page, "\n"+heading+"\n")
	level, _, _ := strings.Cut(heading, " ")
	text, _, _ = strings.Cut(text, "\n"+level+" ")
	return text, ok
}

// cellsOf returns the cells of a line of a Markdown table; a line outside of a table is one cell.
func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}
