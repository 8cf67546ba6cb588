package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/casefile"
)

// TestAPI runs the verb api of testdata: each case has a server of its own with a stopped clock, and runs the
// steps line by line.
//
//	flags: --auth            flags of the server; the first line, if there is one. With --auth there is a user
//	                         root with the password p, as which the commands run
//	run: test {ping: 1}      a command by a driver, which must succeed
//	try: test {ping: 1}      a command that may fail
//	orders: 4                makes the collection test.orders with 4 partitions and 200 documents
//	pass: 5                  advances the clock by 5 seconds
//	user: ada:secret         the user and password of the requests from now on
//	show: rows.cells ns      the parts of replies that are printed from now on; without this line, all
//	get: /heat?ns=test.c     a GET request to the API; the path is below /api/v1
//	post: /find {ns: …}      a POST request with a body
//
// For each request the status and the reply are printed. Times are seconds since the clock was stopped (T+1); a path
// such as rows.cells goes into each element of a list, or into the element with a given index.
func TestAPI(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		if c.Verb != "api" {
			t.Fatalf("unknown verb %s", c.Verb)
		}
		flags, _ := c.Get("flags")
		x := &script{server: start(t, strings.Fields(flags)...)}
		if s := x.server; strings.Contains(flags, "--auth") {
			s.run("admin", `{"createUser": "root", "pwd": "p", "roles": ["root"]}`)
			s.client = s.connect("root:p")
			s.user = "root:p"
		}
		x.server.stop()
		x.second()
		x.server.user = ""
		for _, a := range c.Args {
			x.do(a)
		}
		return x.out.String()
	})
}

// script is the state of a running case.
type script struct {
	server  *server
	stopped int64 // the second at which the clock was stopped
	shown   []string
	out     strings.Builder
}

// second records the second at which the clock was stopped.
func (x *script) second() {
	var lines struct{ Step, From int64 }
	x.server.get("/api/v1/lines?from=-1").into(&lines)
	x.stopped = lines.From + 1
}

func (x *script) do(a casefile.Arg) {
	s := x.server
	s.t.Helper()
	first, rest, _ := strings.Cut(a.Value, " ")
	switch a.Key {
	case "flags":
	case "run":
		s.run(first, "%s", rest)
	case "try":
		s.try(first, rest)
	case "orders":
		s.orders()
	case "pass":
		n, err := strconv.Atoi(first)
		if err != nil {
			s.t.Fatal(err)
		}
		s.pass(n)
	case "user":
		s.user = a.Value
	case "show":
		x.shown = strings.Fields(a.Value)
	case "get":
		x.show(s.get("/api/v1" + first))
	case "post":
		x.show(s.post("/api/v1"+first, rest))
	default:
		s.t.Fatalf("line %d: unknown key %q", a.Line, a.Key)
	}
}

// show prints an answer.
func (x *script) show(a answer) {
	var v any
	d := json.NewDecoder(strings.NewReader(a.text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		x.server.t.Fatalf("%v: %s", err, a.text)
	}
	v = x.settle(v)
	if len(x.shown) == 0 || a.status != 200 {
		fmt.Fprintf(&x.out, "%d %s\n", a.status, jsonText(v))
		return
	}
	fmt.Fprintf(&x.out, "%d\n", a.status)
	for _, path := range x.shown {
		fmt.Fprintf(&x.out, "  %s %s\n", path, jsonText(at(v, strings.Split(path, "."))))
	}
}

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(b.String())
}

// at returns the part of a reply at a path, which goes into each element of a list, or into the element with a given
// index.
func at(v any, path []string) any {
	if len(path) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		return at(v[path[0]], path[1:])
	case []any:
		if n, err := strconv.Atoi(path[0]); err == nil && n < len(v) {
			return at(v[n], path[1:])
		}
		out := []any{}
		for _, e := range v {
			out = append(out, at(e, path))
		}
		return out
	}
	return nil
}

// around is the distance from the time of the stopped clock, in seconds, within which a number in a reply counts as a
// time.
const around = 8 * 86400

// settle replaces what differs from run to run.
func (x *script) settle(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			switch k {
			case "$date", "$uuid", "$binary", "$timestamp":
				return k
			}
			v[k] = x.settle(v[k])
		}
	case []any:
		for i := range v {
			v[i] = x.settle(v[i])
		}
	case json.Number:
		if n, err := v.Int64(); err == nil && n > x.stopped-around && n < x.stopped+around {
			return fmt.Sprintf("T%+d", n-x.stopped)
		}
	}
	return v
}

// TestAllInCases checks that cases request every address of the API except the live stream.
func TestAllInCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(get|post): (/[a-z/]+)`).FindAllStringSubmatch(string(text), -1) {
			asked[strings.ToUpper(m[1])+" "+m[2]] = true
		}
	}
	for x := range listed(t) {
		if !asked[x] && x != "GET /live" { // a live request does not end
			t.Errorf("no case asks %s", x)
		}
	}
}
