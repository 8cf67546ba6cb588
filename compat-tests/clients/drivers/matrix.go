package drivers

import (
	"fmt"
	"os"
	"strings"
)

// variants are the ways in which the server is run for the client programs: the two personalities, mongodb with
// authentication and TLS, and three servers over one store, with all their addresses and behind a load balancer.
var variants = []string{"mongodb", "cosmos", "secure", several, balanced}

// The variants with more than one server.
const (
	several  = "several"
	balanced = "balanced"
)

// matrix holds the results of the client programs: "ok", "skip" or "FAIL" by row (the client), area and variant. A
// row that was not run is missing.
type matrix map[[3]string]string

// matrixHead is the comment at the beginning of the file.
const matrixHead = "# What each client was seen doing: row, area, then one result per way of running the server.\n" +
	"# Written by go test ./compat-tests/clients/drivers -rewrite; scripts/gendocs prints it into README.md.\n"

// readMatrix parses the file of a matrix, which print has written. A missing file counts as an empty matrix.
func readMatrix(path string) (matrix, error) {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	m := matrix{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" || len(fields) == 1 || fields[0] == "row" {
			continue
		}
		for _, f := range fields[2:] {
			variant, result, ok := strings.Cut(f, "=")
			if !ok {
				return nil, fmt.Errorf("%s: %q is not variant=result", path, f)
			}
			m[[3]string{fields[0], fields[1], variant}] = result
		}
	}
	return m, nil
}

// print writes the matrix in the order of the tables.
func (m matrix) print() string {
	var b strings.Builder
	b.WriteString(matrixHead)
	for _, p := range programs {
		for _, r := range p.rows {
			fmt.Fprintf(&b, "\nrow %s %s\n", r.name, r.title)
			for _, area := range r.areas {
				fmt.Fprintf(&b, "%-12s %-14s", r.name, area)
				for _, v := range variants {
					if result := m[[3]string{r.name, area, v}]; result != "" {
						fmt.Fprintf(&b, " %s=%s", v, result)
					}
				}
				b.WriteString("\n")
			}
		}
	}
	return b.String()
}

// show returns a matrix as a table for the test's output: a row per client, a column per area.
func (m matrix) show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s", "")
	for _, area := range areas {
		fmt.Fprintf(&b, " %-9.9s", area)
	}
	b.WriteString("\n")
	for _, p := range programs {
		for _, r := range p.rows {
			fmt.Fprintf(&b, "%-12s", r.name)
			for _, area := range areas {
				var cell []string
				for _, v := range variants {
					if result := m[[3]string{r.name, area, v}]; result != "" {
						cell = append(cell, result)
					}
				}
				fmt.Fprintf(&b, " %-9s", strings.Join(cell, " "))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
