package authfuzz

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpus holds the valid requests from which requests are drawn.
type corpus struct {
	commands map[string][]*node // by the first field's name, each with $db
	names    []string           // names of commands, in the order of the lists
	stages   map[string][]*node // by name; the node's text is the place of the stage
	// lines and stageLines hold the requests of the lists commandLines and stageLines, each once plus once for each
	// name in it, so that requests with names are drawn more often.
	lines, stageLines []*node
	listed            map[string][]*node // the lines by command
}

// newCorpus reads the lists of requests, and the case files of other tests, whose arguments are like those of real
// users.
func newCorpus(t testing.TB) *corpus {
	t.Helper()
	c := &corpus{commands: map[string][]*node{}, stages: map[string][]*node{}, listed: map[string][]*node{}}
	for _, line := range commandLines {
		n, err := parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		c.add(n)
		c.listed[n.kids[0].name] = append(c.listed[n.kids[0].name], n)
		for range weight(n) {
			c.lines = append(c.lines, n)
		}
	}
	for _, line := range stageLines {
		stage, on, _ := strings.Cut(line, " on ")
		n, err := parse(stage)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n.text = on
		c.stages[n.kids[0].name] = append(c.stages[n.kids[0].name], n)
		for range weight(n) {
			c.stageLines = append(c.stageLines, n)
		}
	}
	for _, dir := range []string{"../cases", "../../../collection/agg/testdata"} {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".txt" {
				return err
			}
			b, err := os.ReadFile(path)
			if err == nil {
				c.read(string(b))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// weight returns how many times a request is entered into the corpus: once, and once more for each of its tokens that
// stand for a name. So requests with names are drawn more often.
func weight(n *node) int {
	w := 1
	n.visit(func(k *node) {
		if k.isText() && strings.HasPrefix(k.text, "@") && k.name != "$db" {
			w++
		}
	})
	return w
}

func (c *corpus) add(n *node) {
	if n.get("$db") == nil {
		n.kids = append(n.kids, named("$db", text("@db")))
	}
	name := n.kids[0].name
	if c.commands[name] == nil {
		c.names = append(c.names, name)
	}
	c.commands[name] = append(c.commands[name], n)
}

// read adds the commands and stages in a case file to the corpus. It leaves out commands that are not in the lists, a
// few others such as logout, and long or slow ones.
func (c *corpus) read(file string) {
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		pipeline, isPipeline := strings.CutPrefix(line, "pipeline: ")
		if isPipeline {
			line = "{pipeline: " + pipeline + "}"
		}
		if !strings.HasPrefix(line, "{") || len(line) > 600 || strings.Contains(line, "@") || strings.Contains(line, "while") || strings.Contains(line, "sleep") {
			continue
		}
		n, err := parse(line)
		if err != nil || len(n.kids) == 0 {
			continue
		}
		aim(n)
		switch first := n.kids[0].name; {
		case isPipeline:
			for _, s := range n.kids[0].kids {
				if s.typ == typeDoc && len(s.kids) == 1 && strings.HasPrefix(s.kids[0].name, "$") {
					c.stages[s.kids[0].name] = append(c.stages[s.kids[0].name], s)
				}
			}
		case c.commands[first] != nil && !slices.Contains([]string{"logout", "saslStart", "authenticate", "customAction", "getMore"}, first):
			c.add(n)
		}
	}
}

// places are the fields of requests that hold names, with the token that replaces the name in each.
var places = map[string]string{"from": "@coll", "coll": "@coll", "into": "@coll", "viewOn": "@coll", "$out": "@coll", "$merge": "@coll", "$unionWith": "@coll",
	"db": "@db", "$db": "@db", "ns": "@ns", "namespace": "@ns", "to": "@ns", "user": "@user", "role": "@role", "replace": "@coll", "merge": "@coll", "reduce": "@coll", "out": "@coll", "collection": "@coll"}

// aim replaces the names in a request from a case file by tokens, so that draw can insert other names.
func aim(n *node) {
	if first := n.kids[0]; first.typ == typeText {
		switch {
		case strings.HasPrefix(first.text, "test."):
			first.text = "@ns"
		case strings.HasSuffix(first.name, "User"):
			first.text = "@user"
		case strings.HasSuffix(first.name, "Role"):
			first.text = "@role"
		case !strings.Contains(first.name, "arameter"):
			first.text = "@coll"
		}
	}
	n.visit(func(n *node) {
		switch token, ok := places[n.name]; {
		case n.typ == typeText && strings.HasPrefix(n.text, "test."):
			n.text = "@ns"
		case ok && n.typ == typeText && !slices.Contains([]string{"admin", "config", "local"}, n.text) && !strings.HasPrefix(n.text, "function"):
			n.text = token
		case n.typ == typeBinary && len(n.data) == 21 && n.data[4] == 4 && n.name == "id":
			*n = *named(n.name, text("@lsid"))
		}
	})
}
