package pages

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p, err := parse("p", "# Title\n\n<!-- server: --auth --partitions 4 -->\n```sh\necho 1\n```\ntext\n```text output\n1\n```\n"+
		"```yaml file=a/b.yaml\nx: 1\n```\n```sh skip=\"needs a moon\"\nfly\n```\n```text\na picture\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.server, []string{"--auth", "--partitions", "4"}) || p.none || len(p.blocks) != 5 {
		t.Fatalf("%+v", p)
	}
	want := []block{
		{line: 4, language: "sh", text: "echo 1\n"},
		{line: 8, language: "text", output: true, text: "1\n"},
		{line: 11, language: "yaml", file: "a/b.yaml", text: "x: 1\n"},
		{line: 14, language: "sh", skip: "needs a moon", text: "fly\n"},
		{line: 17, language: "text", text: "a picture\n"},
	}
	for i, b := range p.blocks {
		if *b != want[i] {
			t.Errorf("%+v, want %+v", *b, want[i])
		}
	}
	for text, fault := range map[string]string{
		"```\nx\n```":                                     "p:1: the block says no language",
		"\n```yaml\nx\n```":                               "p:2: a block of yaml does not run",
		"```sh nonsense\nx\n```":                          `"nonsense" behind a fence means nothing`,
		"```sh skip=\nx\n```":                             `"skip=" behind a fence means nothing`,
		"```text output\nx\n```":                          "output stands behind a block",
		"```js\nx\n```\n```text output\nx\n```":           "output stands behind a block",
		"```sh uri=\"mongodb://127.0.0.1/\"\nx\n```":      "uri is for blocks of js",
		"```sh output\nx\n```":                            "output is for blocks of text",
		"```sh\nx\n":                                      "p:1: the block has no end",
		"```sh skip=\"why\"\nx\n```\n```text output\n```": "output stands behind a block",
	} {
		if _, err := parse("p", text); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, want %s", text, err, fault)
		}
	}
}

func TestStatements(t *testing.T) {
	got := statements("// about\na({\n  b: 1,\n})\n\nfor (;;) {\n  x()\n} // 5\ny() // 6\n")
	if want := []statement{{"a({\n  b: 1,\n})", 4}, {"for (;;) {\n  x()\n} // 5", 8}, {"y() // 6", 9}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		want, got string
		holds     bool
	}{
		{"a\nb\n", "a\nb\n\n", true},
		{"a\nb", "a  \nb", true},
		{"a", "ab", false},
		{"a.c", "abc", false},
		{"took … ms", "took 5 ms", true},
		{"took … ms", "took 5\n ms", false},
		{"a\n…\nb", "a\n1\n2\nb", true},
		{"a\n…", "b\nc", false},
	} {
		if holds(c.want, c.got) != c.holds {
			t.Errorf("%q, %q", c.want, c.got)
		}
	}
}

func TestAddresses(t *testing.T) {
	r := &reader{ports: map[string]string{"27017": "5", "10255": "6"}}
	if got := r.withFreePorts("mongodb://127.0.0.1:27017/ localhost:10255 0.0.0.0:27017, 27018:27017 10.0.0.1:27017"); got != "mongodb://127.0.0.1:5/ localhost:6 0.0.0.0:5, 27018:27017 10.0.0.1:27017" {
		t.Error(got)
	}
}
