package privileges

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/rooms"
)

// unauthorized is the error code by which the server refuses for lack of privileges. Any other result means that the
// request was authorized.
const unauthorized = 13

// targets are the namespaces to which each request is sent.
var targets = []string{"own.c", "own.system.js", "own.system.profile", "own.system.views", "other.c", "other.system.js",
	"other.system.profile", "admin.c", "admin.system.users", "admin.system.version", "config.chunks", "config.settings", "local.oplog.rs"}

// people is the database of the users, which no request uses.
const people = "people"

// caller is one column of the matrix, a sender of requests: a user with one role, a user without roles, or a client
// without a login.
type caller struct {
	name   string
	letter byte
	may    role // by the manual; nil without a login
	db     *mongo.Client
}

// TestMatrix compares the server with testdata/matrix.txt and with the manual.
func TestMatrix(t *testing.T) {
	s := start(t)
	root := s.connect(t, nil)
	run(t, root, "admin", `{createUser: "root", pwd: "p", roles: ["root"]}`)
	root = s.connect(t, &options.Credential{AuthSource: "admin", Username: "root", Password: "p"})
	askers := s.askers(t, root)
	var out strings.Builder
	out.WriteString("# Who is let through: a letter for each role, a dot for those that are refused. Written by -rewrite.\n#\n")
	for _, a := range askers {
		fmt.Fprintf(&out, "#   %c  %s\n", a.letter, a.name)
	}
	used := map[*deviation]bool{}
	for _, r := range slices.Concat(commands, stages) {
		m := map[string][]string{} // targets by the letters of the authorized askers
		var order []string
		for _, target := range r.targets() {
			refill(t, root)
			cells := make([]byte, len(askers))
			for i, a := range askers {
				cells[i] = '.'
				is := s.passes(t, a, &r, target)
				if is {
					cells[i] = a.letter
				}
				if is == allowed(a.may, place(r.needs, target)) {
					continue
				}
				d := deviates(r.name, target, a.name)
				if d == nil {
					t.Errorf("%s on %q as %s: let through is %v; the manual wants %q", r.name, target, a.name, is, place(r.needs, target))
				}
				used[d] = true
			}
			row := string(cells)
			if m[row] == nil {
				order = append(order, row)
			}
			m[row] = append(m[row], target)
		}
		fmt.Fprintf(&out, "\n%s\n", r.name)
		for _, row := range order {
			out.WriteString(strings.TrimRight(fmt.Sprintf("  %s  %s", row, strings.Join(m[row], " ")), " ") + "\n")
		}
	}
	for i := range deviations {
		if d := &deviations[i]; !used[d] {
			t.Errorf("the deviation of %q (%s) does not come up any more", d.requests, d.why)
		}
	}
	compare(t, "testdata/matrix.txt", out.String())
}

// compare compares a text with the content of a file. With -rewrite it writes the file instead.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if casefile.Rewriting() {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	is, was := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(is), len(was)) {
		if i >= len(is) || i >= len(was) || is[i] != was[i] {
			t.Fatalf("%s is another one from line %d on: %q (-rewrite accepts it)", path, i+1, is[min(i, len(is)-1)])
		}
	}
}

// TestNothingIsMissing checks that the matrix has every command of its address and every stage, and roles.txt every
// built-in role.
func TestNothingIsMissing(t *testing.T) {
	has := func(list []request, name string) bool {
		return slices.ContainsFunc(list, func(r request) bool { n, _, _ := strings.Cut(r.name, " ("); return n == name })
	}
	for _, c := range rooms.Commands() {
		if c.Facts.Has(command.AccountOnly) {
			continue // missing at the address of the matrix; wire/rooms tests its privileges
		}
		if !has(commands, c.Name) {
			t.Errorf("commands_test.go has no request of %s", c.Name)
		}
	}
	for _, s := range agg.Stages {
		if !has(stages, s.Name) {
			t.Errorf("stages_test.go has no request with %s", s.Name)
		}
	}
	roles := readRoles(t)
	for _, b := range auth.Builtins {
		if roles[b.Name] == nil {
			t.Errorf("testdata/roles.txt does not have %s", b.Name)
		}
	}
}

// server is a server in this process that requires a login.
type server struct{ *cantle.Server }

func start(t *testing.T) server {
	t.Helper()
	s, err := cantle.Open(cantle.Options{Flags: []string{"--auth", "--enable-test-commands"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server{s}
}

// connect connects as a user, nil for no login.
func (s server) connect(t *testing.T, as *options.Credential) *mongo.Client {
	t.Helper()
	o := options.Client().ApplyURI(s.URI()).SetDialer(s.Server).SetMaxPoolSize(1).SetRetryReads(false).SetRetryWrites(false)
	if as != nil {
		o.SetAuth(*as)
	}
	c, err := mongo.Connect(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Disconnect(t.Context()) })
	return c
}

// askers creates a user for each column.
func (s server) askers(t *testing.T, root *mongo.Client) []caller {
	t.Helper()
	manual := readRoles(t)
	list := []caller{{name: "nobody", letter: 'n', db: s.connect(t, nil)}}
	add := func(name string, letter byte, roles string) {
		t.Helper()
		run(t, root, people, fmt.Sprintf(`{createUser: %q, pwd: "p", roles: [%s], mechanisms: ["SCRAM-SHA-256"]}`, name, roles))
		a := caller{name: name, letter: letter, may: manual[name], db: s.connect(t, &options.Credential{AuthSource: people, Username: name, Password: "p"})}
		if a.may == nil {
			a.may = role{} // a user without roles
		}
		list = append(list, a)
	}
	add("none", 'u', "")
	letter := byte('A')
	for _, b := range auth.Builtins {
		db := "admin"
		if b.Everywhere {
			db = own
		}
		add(b.Name, letter, fmt.Sprintf(`{role: %q, db: %q}`, b.Name, db))
		letter++
	}
	for _, b := range auth.Builtins {
		if b.Everywhere {
			add(b.Name+onAdmin, letter, fmt.Sprintf(`{role: %q, db: "admin"}`, b.Name))
			letter++
		}
	}
	return list
}

// refill restores data that requests may have removed.
func refill(t *testing.T, root *mongo.Client) {
	t.Helper()
	for _, db := range []string{own, "other"} {
		for _, coll := range []string{"c", "d"} {
			_ = root.Database(db).RunCommand(t.Context(), bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 1}}}}}).Err()
		}
	}
}

// targets returns the namespaces to which a request is sent: all targets if it names a collection, one of each
// database if it names only a database, and only "" if it names neither.
func (r *request) targets() (list []string) {
	switch text := r.command(); {
	case strings.Contains(text, "@ns"), strings.Contains(text, "@coll"):
		return targets
	case strings.Contains(text, "@db"):
		for _, target := range targets {
			db, _, _ := strings.Cut(target, ".")
			if !slices.Contains(list, db+".") {
				list = append(list, db+".")
			}
		}
		return list
	}
	return []string{""}
}

// place replaces the placeholders in a text by a target.
func place(text, target string) string {
	db, coll, _ := strings.Cut(target, ".")
	return strings.NewReplacer("@ns", target, "@db", db, "@coll", coll).Replace(text)
}

// passes reports whether a request is authorized.
func (s server) passes(t *testing.T, a caller, r *request, target string) bool {
	t.Helper()
	db, _, _ := strings.Cut(target, ".")
	name, _, _ := strings.Cut(r.name, " (")
	if def := defs[name]; def != nil && def.Facts.Has(command.AdminOnly) || target == "" {
		db = "admin"
	}
	text := place(r.command(), target)
	if name == "logout" { // on a connection that is not used any more
		other := a
		other.db = s.connect(t, nil)
		a = other
	}
	return answer(t, a.db, db, text) != unauthorized
}

// defs maps names to the rows of commands.
var defs = func() map[string]*command.Def {
	m := map[string]*command.Def{}
	for _, d := range rooms.Commands() {
		m[d.Name] = &d
	}
	return m
}()

// answer runs a command and returns the error code of the reply, 0 for success.
func answer(t *testing.T, c *mongo.Client, db, text string) int32 {
	t.Helper()
	doc, err := ejson.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	cmd := bson.D{}
	if err := bson.Unmarshal(doc, &cmd); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(cmd, func(e bson.E) bool { return e.Key == "$db" }); i >= 0 {
		db, _ = cmd[i].Value.(string)
		cmd = slices.Delete(cmd, i, i+1)
	}
	err = c.Database(db).RunCommand(t.Context(), cmd).Err()
	var refused mongo.CommandError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused):
		return refused.Code
	}
	t.Fatalf("%s: %v", text, err)
	return 0
}

func run(t *testing.T, c *mongo.Client, db, text string) {
	t.Helper()
	if code := answer(t, c, db, text); code != 0 {
		t.Fatalf("%s on %s: code %d", text, db, code)
	}
}
