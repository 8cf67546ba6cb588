package casefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cantledb/cantle/collection/release"
)

// separator stands between the inputs and the output of a case.
const separator = "----"

// Arg is one input line of a case.
type Arg struct {
	Key   string // "" for a bare line
	Value string // continuation lines are joined with "\n", their indent removed
	Line  int    // 1-based line in the file
}

// Case is one case of a case file: a verb with its inputs and the expected output. The handler of a test returns the
// actual output for a Case, and Run compares the two.
type Case struct {
	Verb string
	Args []Arg
	File string // path as it was opened
	Line int    // 1-based line of the verb

	want     string // expected output, lines joined with "\n", no final newline
	outStart int    // index into File.lines of the first line after the separator
	outEnd   int    // index of the first line after the output (and its doubled dashes)

	releases []release.Release // releases for which the case holds; nil = none named
	release  release.Release   // the release of this run
	asked    bool              // a handler has called Release
}

// Get returns the value of the first argument named key.
func (c *Case) Get(key string) (string, bool) {
	for _, a := range c.Args {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}

// All returns the values of every argument named key, in order.
func (c *Case) All(key string) []string {
	var out []string
	for _, a := range c.Args {
		if a.Key == key {
			out = append(out, a.Value)
		}
	}
	return out
}

// Want returns the expected output. Handlers need it only if several outputs are right, for example if the
// order of a result is not defined: they return the expected output if theirs is equivalent to it.
func (c *Case) Want() string { return c.want }

// Position returns the position of the case, as file:line.
func (c *Case) Position() string { return fmt.Sprintf("%s:%d", c.File, c.Line) }

// File is one parsed case file.
type File struct {
	Path   string
	Header []string // comment lines before the first case, without "#" and the blank that follows
	Cases  []*Case

	lines []string // the text, one entry per line, for rewriting
}

// Open reads and parses the case file at path.
func Open(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(text))
}

// Parse parses the text of a case file. path is not opened; it only appears in positions and errors.
func Parse(path, text string) (*File, error) {
	if strings.Contains(text, "\r") {
		return nil, fmt.Errorf("%s: contains carriage returns; case files end lines with a newline only", path)
	}
	p := &parser{file: &File{Path: path, lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}}
	for p.next < len(p.file.lines) {
		if err := p.parseOne(); err != nil {
			return nil, err
		}
	}
	return p.file, nil
}

// parser walks over the lines of one file.
type parser struct {
	file *File
	next int // index of the next line
}

// line returns the next line without consuming it.
func (p *parser) line() string { return p.file.lines[p.next] }

// more reports whether lines are left.
func (p *parser) more() bool { return p.next < len(p.file.lines) }

// errorf returns an error at the 1-based line.
func (p *parser) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file.Path, line, fmt.Sprintf(format, args...))
}

// parseOne consumes a blank line, a comment or a whole case.
func (p *parser) parseOne() error {
	line := p.line()
	switch {
	case strings.TrimSpace(line) == "":
		p.next++
		return nil
	case strings.HasPrefix(line, "#"):
		if len(p.file.Cases) == 0 {
			p.file.Header = append(p.file.Header, strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
		}
		p.next++
		return nil
	}
	return p.parseCase()
}

// parseCase consumes verb, inputs, separator and output.
func (p *parser) parseCase() error {
	c := &Case{Verb: strings.TrimRight(p.line(), " \t"), File: p.file.Path, Line: p.next + 1}
	if !isWord(c.Verb) {
		return p.errorf(c.Line, "a case begins with a verb (one word), not with %q", p.line())
	}
	p.next++
	for {
		if !p.more() {
			return p.errorf(c.Line, "case %q has no %s line", c.Verb, separator)
		}
		line, number := p.line(), p.next+1
		p.next++
		if line == separator {
			break
		}
		if err := p.parseInput(c, line, number); err != nil {
			return err
		}
	}
	if err := p.parseOutput(c); err != nil {
		return err
	}
	p.file.Cases = append(p.file.Cases, c)
	return nil
}

// parseInput adds one input line to c.
func (p *parser) parseInput(c *Case, line string, number int) error {
	if rest, ok := strings.CutPrefix(line, "  "); ok {
		if len(c.Args) == 0 {
			return p.errorf(number, "a continuation line needs an argument before it")
		}
		last := &c.Args[len(c.Args)-1]
		last.Value += "\n" + strings.TrimRight(rest, " \t")
		return nil
	}
	line = strings.TrimRight(line, " \t")
	switch {
	case line == "":
		return p.errorf(number, "blank line inside the case of line %d: is its %s line missing?", c.Line, separator)
	case line[0] == '#':
		return nil
	case line[0] == '{' || line[0] == '[' || isWord(line):
		c.Args = append(c.Args, Arg{Value: line, Line: number})
		return nil
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok || !isWord(key) {
		return p.errorf(number, "expected `key: value`, a document, a word, a comment or %s, found %q", separator, line)
	}
	if key == releasesKey {
		var err error
		if c.releases, err = parseReleases(value); err != nil {
			return p.errorf(number, "%v", err)
		}
		c.release = c.releases[0]
		return nil
	}
	c.Args = append(c.Args, Arg{Key: key, Value: strings.TrimLeft(value, " \t"), Line: number})
	return nil
}

// parseOutput reads the expected output of a case: the lines up to the next blank line, or those between doubled
// separators.
func (p *parser) parseOutput(c *Case) error {
	c.outStart = p.next
	if p.more() && p.line() == separator {
		p.next++
		first := p.next
		for ; p.next+1 < len(p.file.lines); p.next++ {
			if p.line() == separator && p.file.lines[p.next+1] == separator {
				c.want = strings.Join(p.file.lines[first:p.next], "\n")
				p.next += 2
				c.outEnd = p.next
				return nil
			}
		}
		return p.errorf(c.Line, "the doubled %s that opens the output is never closed", separator)
	}
	for p.more() && p.line() != "" {
		p.next++
	}
	c.outEnd = p.next
	c.want = strings.Join(p.file.lines[c.outStart:p.next], "\n")
	return nil
}

// isWord reports whether s is one name: letters, digits, '_', '-', '.' and '$'.
func isWord(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		case b == '_', b == '.', b == '$', b == '-' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// list returns the paths of the case files under dir, sorted. Directories named "fuzz" hold the corpora of Go's own
// fuzzing and are left out.
func list(dir string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "fuzz":
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".txt"):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
