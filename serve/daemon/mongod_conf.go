package daemon

import "strings"

// yamlSections are the sections that enclose a line of a YAML file, the outermost first. A settings file of cantle has
// none, so a file with sections is a mongod.conf, whose keys are explained by their full names (net.port).
type yamlSections []yamlSection

// yamlSection is the name of a section and the indent of the line with that name.
type yamlSection struct {
	name   string
	indent int
}

// at leaves the sections to which a line with this indent does not belong, and returns the names of the others, each
// followed by a point.
func (s *yamlSections) at(indent int) (path string) {
	for len(*s) > 0 && (*s)[len(*s)-1].indent >= indent {
		*s = (*s)[:len(*s)-1]
	}
	for _, x := range *s {
		path += x.name + "."
	}
	return path
}

// begin reports whether a line begins a section, and then enters the section: the line has a name without a value, and
// the next line with text has a greater indent. rest are the lines behind it.
func (s *yamlSections) begin(line string, rest []string) bool {
	name, ok := strings.CutSuffix(strings.TrimSpace(line), ":")
	if !ok {
		return false
	}
	for _, next := range rest {
		text := strings.TrimSpace(next)
		if text == "" || text[0] == '#' {
			continue
		}
		if indent(next) <= indent(line) {
			return false
		}
		*s = append(*s, yamlSection{name, indent(line)})
		return true
	}
	return false
}

// indent returns the number of blanks before the text of a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
