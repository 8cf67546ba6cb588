package programs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// TestReports checks the results that are read from the reports of test runners.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		name, report, want string
		parse              func([]byte) (scoreboard.Results, error)
	}{
		{"junit", `<?xml version="1.0"?><testsuites><testsuite name="a"><testcase classname="t.C" name="a b"/>
<testsuite name="inner"><testcase classname="t.C" name="c"><failure message="no">why</failure></testcase></testsuite>
<testcase name="d"><skipped/></testcase><testcase name="e"><error message="in setup"/></testcase></testsuite></testsuites>`,
			"d SKIP \ne FAIL in setup\n\nt.C::a_b PASS \nt.C::c FAIL no\nwhy", junit},
		{"jest", `{"testResults": [{"assertionResults": [{"fullName": "a b", "status": "passed"}, {"fullName": "c", "status": "failed", "failureMessages": ["why"]},
{"fullName": "d", "status": "pending"}]}]}`, "a_b PASS \nc FAIL why\nd SKIP ", jest},
		{"tap", "# test/a.js\nTAP version 13\n# first thing\nok 1 x\nnot ok 2 y\nok 3 z\n# second\nok 4 x\n\n1..4\n# tests 4\n# pass  3\n# fail 1\n# test/b.js\nError\nnot ok: it ends early\n",
			"first_thing FAIL not ok 2 y\nsecond PASS \ntest/b.js FAIL not ok: it ends early", tap},
	} {
		results, err := c.parse([]byte(c.report))
		var got []string
		for _, name := range slices.Sorted(maps.Keys(results)) {
			got = append(got, name+" "+results[name].Outcome+" "+strings.Join(results[name].Said, ","))
		}
		if s := strings.Join(got, "\n"); err != nil || s != c.want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", c.name, err, s, c.want)
		}
	}
}

// TestTable checks that the table can be read, and that errors in a table are reported.
func TestTable(t *testing.T) {
	if rows, err := readTable(tableText); err != nil || len(rows) == 0 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	const good = "program a\nfrom npm a 1.0.0\ntest mocha\n"
	for _, text := range []string{"from npm a 1.0.0\n", good + "color red\n", good + "port 27018\n", "program a\nfrom npm a 1.0.0\n", "program a\nfrom npm a\ntest mocha\n",
		"program a\nfrom cargo a 1.0.0\ntest mocha\n", strings.Replace(good, "program a", "program b", 1) + good} {
		if rows, err := readTable(text); err == nil {
			t.Errorf("%q is read as %v", text, rows)
		}
	}
	if _, err := readTable(good); err != nil {
		t.Error(err)
	}
}
