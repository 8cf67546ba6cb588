package programs

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// runner is a test runner: the program and its first arguments, to which those of the row are added, and the function
// that reads its report.
type runner struct {
	program string
	args    func(report string) []string
	parse   func(report []byte) (scoreboard.Results, error)
}

var runners = map[string]*runner{
	"pytest": {"../venv/bin/python", func(report string) []string {
		return []string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", "--timeout=120", "--junitxml=" + report}
	}, junit},
	"mocha": {"node_modules/.bin/mocha", func(report string) []string {
		return []string{"--exit", "--timeout", "20000", "--reporter", "xunit", "--reporter-options", "output=" + report}
	}, junit},
	"node": {"node", func(report string) []string {
		return []string{"--test", "--test-reporter=junit", "--test-reporter-destination=" + report}
	}, junit},
	"jest": {"node", func(report string) []string {
		return []string{"node_modules/jest/bin/jest.js", "--ci", "--runInBand", "--forceExit", "--json", "--outputFile=" + report}
	}, jest},
	"vitest": {"node", func(report string) []string {
		return []string{"node_modules/vitest/vitest.mjs", "run", "--reporter=junit", "--outputFile=" + report}
	}, junit},
	// Each file of tape is a program that prints its report; sh puts all into the file. A file that ends early without a
	// failed test is a failed test.
	"tape": {"sh", func(report string) []string {
		return []string{"-c", `report=$1; shift
			for file in $@; do
				echo "# $file" >> "$report"
				node "$file" > "$report.one" 2>&1 || grep -q "^not ok" "$report.one" || echo "not ok: it ends early" >> "$report.one"
				cat "$report.one" >> "$report"
			done`, "sh", report}
	}, tap},
}

// junit reads a report in the form of JUnit, in which suites may contain suites. A test case has several entries if
// several failures belong to it.
func junit(report []byte) (scoreboard.Results, error) {
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	results, d := scoreboard.Results{}, xml.NewDecoder(bytes.NewReader(report))
	d.Strict = false // mocha's reports contain characters that XML does not allow
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return results, nil
		} else if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "testcase" {
			continue
		}
		var c struct {
			Class    string    `xml:"classname,attr"`
			Name     string    `xml:"name,attr"`
			Failures []message `xml:"failure"`
			Errors   []message `xml:"error"`
			Skipped  *message  `xml:"skipped"`
		}
		if err := d.DecodeElement(&c, &start); err != nil {
			return nil, err
		}
		var said []string
		for _, f := range append(c.Failures, c.Errors...) {
			said = append(said, scoreboard.Tail(f.Message+"\n"+f.Text))
		}
		results.Add(testName(c.Class, c.Name), outcome(len(said) > 0, c.Skipped != nil), said...)
	}
}

// jest reads Jest's report.
func jest(report []byte) (scoreboard.Results, error) {
	var r struct {
		TestResults []struct {
			AssertionResults []struct {
				FullName, Status string
				FailureMessages  []string
			}
		}
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, err
	}
	results := scoreboard.Results{}
	for _, file := range r.TestResults {
		for _, a := range file.AssertionResults {
			results.Add(testName(a.FullName), outcome(a.Status == "failed", a.Status != "passed"), a.FailureMessages...)
		}
	}
	return results, nil
}

// tap reads reports in the form of TAP: lines "# title", and below each a line for each assertion. A title fails if one
// of its assertions does.
func tap(report []byte) (scoreboard.Results, error) {
	results, title := scoreboard.Results{}, ""
	for line := range strings.Lines(string(report)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# tests "), strings.HasPrefix(line, "# pass "), strings.HasPrefix(line, "# fail "):
			title = ""
		case strings.HasPrefix(line, "# "):
			title = testName(line[2:])
		case strings.HasPrefix(line, "not ok"):
			results.Add(testName(title), scoreboard.Failed, line)
		case strings.HasPrefix(line, "ok "):
			results.Add(testName(title), scoreboard.Passed)
		}
	}
	return results, nil
}

// outcome returns the outcome of a test.
func outcome(failed, skipped bool) string {
	switch {
	case failed:
		return scoreboard.Failed
	case skipped:
		return scoreboard.Skipped
	}
	return scoreboard.Passed
}

// testName joins the parts of a test's name, without blanks. A colon before a blank would end a name in the
// scoreboard.
func testName(parts ...string) string {
	var words []string
	for _, part := range parts {
		if part = strings.Join(strings.Fields(part), "_"); part != "" {
			words = append(words, part)
		}
	}
	return strings.Join(words, "::")
}
