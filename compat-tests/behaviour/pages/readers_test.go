package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// firstScreen is the number of lines of a page that a reader sees without scrolling much.
const firstScreen = 55

// readers are five kinds of users, with a link that each finds on the first screen of docs/README.md; the README's first
// screen has a link to the same page. elsewhere is the reason why the first block behind the link does not run with the
// pages: another test runs it, or checks it as far as that is possible here.
var readers = []struct{ user, link, elsewhere string }{
	{"a user of Azure Cosmos DB", "emulator.md", ""},
	{"a user of Mongoose", "test-suites.md#node", "the tests of packaging/release run"},
	{"a user of pytest", "test-suites.md#python", "the tests of packaging/release run"},
	{"a Go programmer", "test-suites.md#go", "the tests of packaging/release run"},
	{"an operator with Docker", "deploy.md", "needs Docker and the published image"}, // TestYAML checks it
}

// linked finds the targets of links.
var linked = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestReaders checks that each kind of user finds its page in one click, from the README and from the list of the pages,
// and that the first program or command on it runs; if another test runs it, the first program.
func TestReaders(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	screen := func(name string) (links []string) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, m := range linked.FindAllStringSubmatch(strings.Join(lines[:min(len(lines), firstScreen)], "\n"), -1) {
			links = append(links, m[1])
		}
		return links
	}
	readme, list := screen("README.md"), screen("docs/README.md")
	if !slices.Contains(readme, "docs/README.md") {
		t.Error("the first screen of the README does not link to the list of the pages")
	}
	for _, u := range readers {
		file, anchor, _ := strings.Cut(u.link, "#")
		if !slices.Contains(list, u.link) || !slices.Contains(readme, "docs/"+file) {
			t.Errorf("%s does not find %s on the first screen", u.user, u.link)
		}
		text, err := os.ReadFile(filepath.Join(root, "docs", file))
		if err != nil {
			t.Error(err)
			continue
		}
		section := sectionOf(string(text), anchor)
		p, err := parse(u.link, section)
		if err != nil || section == "" {
			t.Errorf("%s has no section %s: %v", file, anchor, err)
			continue
		}
		first := slices.IndexFunc(p.blocks, func(b *block) bool {
			return !slices.Contains([]string{"text", "json", "diff"}, b.language) && (u.elsewhere == "" || b.language != "sh") // sh only installs
		})
		if first < 0 {
			t.Errorf("%s has no program and no command for %s", u.link, u.user)
			continue
		}
		if b := p.blocks[first]; !b.runs() && (u.elsewhere == "" || !strings.Contains(b.skip, u.elsewhere)) {
			t.Errorf("the first block of %s for %s does not run: %s", u.link, u.user, b.skip)
		}
	}
}

// sectionOf returns a page from the heading with an anchor up to the next heading of the same level; the whole page for
// the anchor "".
func sectionOf(text, anchor string) string {
	if anchor == "" {
		return text
	}
	var out []string
	level := ""
	for line := range strings.SplitSeq(text, "\n") {
		marks, title, heading := strings.Cut(line, " ")
		heading = heading && marks != "" && strings.Trim(marks, "#") == ""
		switch {
		case level == "" && heading && strings.ToLower(strings.ReplaceAll(title, " ", "-")) == anchor:
			level = marks
		case level != "" && heading && len(marks) <= len(level):
			return strings.Join(out, "\n")
		}
		if level != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
