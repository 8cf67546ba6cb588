package pymongosuite

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// TestParse checks the results that are read from pytest's report.
func TestParse(t *testing.T) {
	report := `<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest">
<testcase classname="test.test_bulk.TestBulk" name="test_a" time="0.1" />
<testcase classname="test.test_bulk.TestBulk" name="test_b"><failure message="short">long</failure></testcase>
<testcase classname="test.test_bulk.TestBulk" name="test_b" />
<testcase classname="test.test_bulk.TestBulk" name="test_c"><error message="in teardown">why</error></testcase>
<testcase classname="test.test_bulk" name="test_d"><skipped type="pytest.skip" message="no">no</skipped></testcase>
<testcase classname="test.test_cursor.TestCursor" name="test_e"><skipped type="pytest.xfail" message="" /></testcase>
</testsuite></testsuites>`
	got, err := pytest{Run: scoreboard.Run{On: scoreboard.ReplicaSet}}.parse([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(got)) {
		all = append(all, name+" "+got[name].Outcome+" "+strings.Join(got[name].Said, ","))
	}
	want := `bulk@replicaset::TestBulk::test_a PASS 
bulk@replicaset::TestBulk::test_b FAIL long
bulk@replicaset::TestBulk::test_c FAIL why
bulk@replicaset::test_d SKIP 
cursor@replicaset::TestCursor::test_e SKIP `
	if s := strings.Join(all, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	for _, text := range []string{"", "<testsuites><testsuite></testsuite></testsuites>"} {
		if got, err := (pytest{}).parse([]byte(text)); err == nil && len(got) > 0 {
			t.Errorf("%q is taken for a report", text)
		}
	}
}
