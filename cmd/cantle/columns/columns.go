// Package columns prints tables and numbers for people.
package columns

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is a text table with aligned columns. If a heading begins with a blank, the cells of its column are aligned
// to the right.
type Table struct{ Rows [][]string }

// Row adds a row; the first is the headings.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = strings.ReplaceAll(Plain(cell), "\n", `\n`)
	}
	t.Rows = append(t.Rows, row)
}

// Print writes all rows.
func (t *Table) Print(w io.Writer) {
	var widths []int
	for _, r := range t.Rows {
		for i, cell := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(strings.TrimSpace(cell)))
		}
	}
	for _, r := range t.Rows {
		var line strings.Builder
		for i, cell := range r {
			text := strings.TrimSpace(cell)
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if strings.HasPrefix(t.Rows[0][i], " ") {
				line.WriteString(pad + text)
			} else {
				line.WriteString(text + pad)
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// Amount prints a number with at most two decimals.
func Amount(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(s, ".00")
}

// Size prints bytes for people.
func Size(n int64) string {
	f, unit := float64(n), "B"
	for _, u := range []string{"KB", "MB", "GB", "TB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}
