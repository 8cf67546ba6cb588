package programs

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed programs.txt
var tableText string

// program is a row of programs.txt.
type program struct {
	name         string // of the row in the scoreboard
	registry     string // a key of kinds
	pkg, version string
	install      []string // further packages for the tests
	server       []string // flags of the server
	adopt        bool     // the tests start mongodb-memory-server, which cantle-memory-server replaces
	port         bool     // the tests expect the server on port 27017
	run          string   // the test runner: a key of runners
	args         []string // of the test runner
	env          []string // of the test runner
}

// readTable reads the rows of programs.txt. A line has a field and its value; the field program begins a row.
// Errors: a field or registry that does not exist; a field before the first row; a row without a test runner.
func readTable(text string) (rows []program, err error) {
	for i, line := range strings.Split(text, "\n") {
		field, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		value = strings.TrimSpace(value)
		if field == "" || field[0] == '#' {
			continue
		}
		if field == "program" {
			rows = append(rows, program{name: value})
			continue
		}
		if len(rows) == 0 || !rows[len(rows)-1].set(field, value) {
			return nil, fmt.Errorf("programs.txt:%d: %q is no field of a program", i+1, line)
		}
	}
	for _, p := range rows {
		if kinds[p.registry] == nil || runners[p.run] == nil || p.version == "" {
			return nil, fmt.Errorf("programs.txt: %s has no registry, version or test runner", p.name)
		}
	}
	if !slices.IsSortedFunc(rows, func(a, b program) int { return strings.Compare(a.name, b.name) }) {
		return nil, fmt.Errorf("programs.txt: the programs are not in the order of their names")
	}
	return rows, nil
}

// set sets a field, and reports whether it exists.
func (p *program) set(field, value string) bool {
	words := strings.Fields(value)
	switch field {
	case "from": // registry package version
		if len(words) != 3 {
			return false
		}
		p.registry, p.pkg, p.version = words[0], words[1], words[2]
	case "title": // for the page
	case "install":
		p.install = append(p.install, words...)
	case "server":
		p.server = append(p.server, words...)
	case "port":
		p.port = value == "27017"
		return p.port
	case "adopt":
		p.adopt = value == "yes"
		return p.adopt
	case "env":
		p.env = append(p.env, value)
	case "test": // test runner and arguments
		if len(words) == 0 {
			return false
		}
		p.run, p.args = words[0], append(p.args, words[1:]...)
	default:
		return false
	}
	return true
}
