package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/testenv"
)

// RunCases runs every case file under dir, each against a server of its own started with config c, so that
// server-wide settings and sessions of one file do not affect another. Cases that name releases of MongoDB
// run against further servers, one for each release. Verbs:
//
//	setup   commands run before each later case of the file, up to the next setup;
//	        every one must succeed, so its output is empty
//	run     commands and their replies, one reply (Render) per command
//
// A command is a document in shell notation, sent to database test unless it has a $db; "more" continues the cursor
// opened last, and so does a getMore of cursor 0. With the argument `errmsg: yes` error messages are printed too;
// `only: a, b.c` prints these fields of the replies and no others. Every case begins with empty databases, except
// admin, config and local, so any case can be run alone.
func RunCases(t *testing.T, dir string, c *Config) {
	paths, err := caseFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.checkSkips(t, paths)
	for _, name := range paths {
		path := filepath.Join(dir, filepath.FromSlash(name))
		f, err := casefile.Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		runners := map[release.Release]*runner{}
		casefile.RunFile(t, name, path, func(t *testing.T, cs *casefile.Case) string {
			for _, key := range []string{name, fmt.Sprintf("%s:%d", name, cs.Line)} {
				if reason, ok := c.Skips[key]; ok {
					t.Skipf("skipped in configuration %s: %s", c.Name, reason)
				}
			}
			r := runners[cs.Release()]
			if r == nil {
				r = &runner{config: c, file: f, release: cs.Release()}
				runners[r.release] = r
			}
			r.connect(t)
			return r.handle(t, cs)
		})
		for _, r := range runners {
			r.end(t)
		}
	}
}

// caseFiles lists the .txt files under dir, relative and with slashes.
func caseFiles(dir string) ([]string, error) {
	var out []string
	for _, pattern := range []string{"*.txt", "*/*.txt", "*/*/*.txt"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return nil, err
			}
			out = append(out, filepath.ToSlash(name))
		}
	}
	slices.Sort(out)
	if len(out) == 0 {
		return nil, fmt.Errorf("no case files under %s", dir)
	}
	return out, nil
}

// checkSkips fails for a skip of a file that does not exist.
func (c *Config) checkSkips(t *testing.T, files []string) {
	for key := range c.Skips {
		file, _, _ := strings.Cut(key, ":")
		if !slices.Contains(files, file) {
			t.Errorf("configuration %s skips %s, which does not exist", c.Name, key)
		}
	}
}

// runner runs the cases of one case file against servers of one release of MongoDB, and holds what these need from
// command to command.
type runner struct {
	config  *Config
	release release.Release
	server  *Server // nil before the first case that is not skipped
	data    string  // its directory, "" in memory
	servers serverChoice
	file    *casefile.File

	databases map[string]bool // ever used; dropped before each case
	prepared  map[string]bool // namespaces sharded and indexed in this case
	cursor    int64           // id of the cursor opened last
	namespace string          // its namespace

	transactions *transactions // nil where commands run by themselves
}

// connect starts the file's server if it does not run yet, and connects to it. With CANTLE_URI set, all files
// use that server.
func (r *runner) connect(t *testing.T) {
	if r.servers.conns != nil {
		return
	}
	if r.server == nil {
		r.start(t)
	}
	for _, addr := range append([]string{r.server.Addr}, r.server.Peers...) {
		c, err := DialAddr(addr)
		if err != nil {
			t.Fatal(err)
		}
		r.servers.conns = append(r.servers.conns, c)
	}
	for _, name := range r.config.Points {
		reply, err := r.servers.all("admin", mustMarshal(bson.D{{Key: "configureFailPoint", Value: name}, {Key: "mode", Value: "alwaysOn"}}))
		if err != nil || reply.Lookup("ok").AsInt64() != 1 {
			t.Fatal(name, reply, err)
		}
	}
}

// start starts the file's server. The server outlives the case for which it is started.
func (r *runner) start(t *testing.T) {
	var err error
	if uri := testenv.URI(); uri != "" {
		if r.config.Disk || r.config.Faults || len(compatible(r.config.Flags, r.release)) > 0 {
			t.Skip("CANTLE_URI is set, and this configuration needs a server of its own")
		}
		if r.server, err = external(uri); err != nil {
			t.Fatal(err)
		}
		return
	}
	if r.config.Disk {
		if r.data, err = os.MkdirTemp("", "cases"); err != nil {
			t.Fatal(err)
		}
	}
	launch := Launch
	if r.config.Launch != nil {
		launch = r.config.Launch
	}
	if r.server, err = launch(Options{Data: r.data, Args: compatible(r.config.Flags, r.release)}); err != nil {
		t.Fatal(err)
	}
}

// end stops the file's server, whose log must show no trouble.
func (r *runner) end(t *testing.T) {
	r.servers.close()
	if r.server != nil {
		if err := r.server.Stop(); err != nil {
			t.Errorf("%s: stopping its server: %v\n%s", r.file.Path, err, r.server.Log())
		}
	}
	if r.data != "" {
		_ = os.RemoveAll(r.data)
	}
}

// handle runs one case.
func (r *runner) handle(t *testing.T, c *casefile.Case) string {
	before := r.setupFor(c)
	r.servers.begin(c, before)
	r.reset(t)
	switch c.Verb {
	case "setup":
		r.setup(t, c)
		return ""
	case "run":
		if before != nil {
			r.setup(t, before)
		}
		return r.run(t, c)
	}
	t.Fatalf("%s: unknown verb %q; end-to-end cases know setup and run", c.Position(), c.Verb)
	return ""
}

// reset ends the sessions, drops the databases and forgets the cursor.
func (r *runner) reset(t *testing.T) {
	if r.databases == nil {
		r.databases = map[string]bool{"test": true}
	}
	// A transaction that a case left open would block DDL of the next one.
	if _, err := r.servers.all("admin", mustMarshal(bson.D{{Key: "killAllSessions", Value: bson.A{}}})); err != nil {
		t.Fatal(err)
	}
	for db := range r.databases {
		reply, err := r.servers.command(db, mustMarshal(bson.D{{Key: "dropDatabase", Value: 1}}))
		if err != nil {
			t.Fatal(err)
		}
		if text := Render(reply, true); strings.HasPrefix(text, "error") {
			t.Fatalf("dropDatabase %s: %s", db, text)
		}
	}
	r.prepared = map[string]bool{}
	r.cursor, r.namespace = 0, ""
}

// setupFor returns the last setup before c in the file.
func (r *runner) setupFor(c *casefile.Case) *casefile.Case {
	var last *casefile.Case
	for _, other := range r.file.Cases {
		if other.Verb == "setup" && other.Line < c.Line {
			last = other
		}
	}
	return last
}

// setup runs the commands of a setup case; each must succeed.
func (r *runner) setup(t *testing.T, c *casefile.Case) {
	for _, a := range c.Args {
		reply := r.command(t, c, a, nil)
		text := Render(reply, true)
		if _, err := reply.LookupErr("writeErrors"); err == nil || strings.HasPrefix(text, "error") {
			t.Fatalf("%s:%d: setup failed: %s\n%s", c.File, a.Line, a.Value, text)
		}
	}
}

// run runs the commands of a case and prints their replies.
func (r *runner) run(t *testing.T, c *casefile.Case) string {
	var replies, commands []string
	_, messages := c.Get("errmsg")
	var only []string
	if list, ok := c.Get("only"); ok {
		only = strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
	}
	for _, a := range c.Args {
		if a.Key == "errmsg" || a.Key == "only" {
			continue
		}
		reply := r.command(t, c, a, r.expected(c, len(replies)))
		if only != nil && reply.Lookup("ok").Type == bson.TypeDouble && reply.Lookup("ok").Double() == 1 {
			reply = fieldsOf(reply, only)
		}
		commands = append(commands, a.Value)
		replies = append(replies, Render(reply, messages))
	}
	if r.transactions != nil {
		r.transactions.commit(t)
	}
	if r.config.Unordered && sameUnordered(commands, replies, c.Want()) {
		return c.Want()
	}
	return strings.Join(replies, "\n")
}

// expected returns the expected reply to command n of a case, nil where commands do not run in transactions.
func (r *runner) expected(c *casefile.Case, n int) *string {
	if !r.config.InTxn {
		return nil
	}
	if r.transactions == nil {
		r.transactions = newTransactions(r.servers.conns[0], &r.config.Held)
	}
	want := ""
	if all := blocks(c.Want()); n < len(all) {
		want = all[n][0]
	}
	return &want
}

// fieldsOf returns the named fields of a reply, and its ok.
func fieldsOf(reply bson.Raw, names []string) bson.Raw {
	return mustMarshal(pick(reply, append([]string{"ok"}, names...)))
}

// pick returns the fields of a document that names select, in the document's order. A name with dots selects
// fields of embedded documents, and of documents in arrays.
func pick(doc bson.Raw, names []string) bson.D {
	out := bson.D{}
	elements, _ := doc.Elements()
	for _, e := range elements {
		if slices.Contains(names, e.Key()) {
			out = append(out, bson.E{Key: e.Key(), Value: e.Value()})
			continue
		}
		var below []string
		for _, n := range names {
			if rest, ok := strings.CutPrefix(n, e.Key()+"."); ok {
				below = append(below, rest)
			}
		}
		if len(below) == 0 {
			continue
		}
		if d, ok := e.Value().DocumentOK(); ok {
			out = append(out, bson.E{Key: e.Key(), Value: pick(d, below)})
		} else if a, ok := e.Value().ArrayOK(); ok {
			list := bson.A{}
			values, _ := a.Values()
			for _, v := range values {
				if d, ok := v.DocumentOK(); ok {
					list = append(list, pick(d, below))
				}
			}
			out = append(out, bson.E{Key: e.Key(), Value: list})
		}
	}
	return out
}

// command sends one argument of a case as a command and returns the reply. If the expected reply is given,
// the command may run in a transaction.
func (r *runner) command(t *testing.T, c *casefile.Case, a casefile.Arg, want *string) bson.Raw {
	t.Helper()
	if a.Key != "" {
		t.Fatalf("%s:%d: a command is a document or the word more, found key %q", c.File, a.Line, a.Key)
	}
	var doc bson.Raw
	if a.Value == "more" {
		_, coll, _ := strings.Cut(r.namespace, ".")
		doc = mustMarshal(bson.D{{Key: "getMore", Value: r.cursor}, {Key: "collection", Value: coll}})
	} else {
		var err error
		if doc, err = parseCommand(a.Value); err != nil {
			t.Fatalf("%s:%d: %v", c.File, a.Line, err)
		}
		doc = r.withCursor(doc)
	}
	db := databaseOf(doc)
	if !isSystem(db) {
		r.databases[db] = true
	}
	r.prepare(t, db, doc, false)
	run := r.servers.command
	if want != nil {
		run = func(db string, doc bson.Raw) (bson.Raw, error) { return r.transactions.run(t, db, doc, *want) }
	}
	reply, err := run(db, doc)
	if err != nil {
		t.Fatalf("%s:%d: %s: %v", c.File, a.Line, a.Value, err)
	}
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok == 1 {
		r.prepare(t, db, doc, true)
	}
	if cursor, ok := reply.Lookup("cursor").DocumentOK(); ok {
		r.cursor, _ = cursor.Lookup("id").AsInt64OK()
		r.namespace, _ = cursor.Lookup("ns").StringValueOK()
	}
	return reply
}

// withCursor puts the id of the cursor opened last into a getMore of cursor 0: case files have 0, because the ids
// differ from run to run.
func (r *runner) withCursor(cmd bson.Raw) bson.Raw {
	first, err := cmd.IndexErr(0)
	if id, isLong := first.Value().Int64OK(); err != nil || first.Key() != "getMore" || !isLong || id != 0 {
		return cmd
	}
	elements, _ := cmd.Elements()
	out := bson.D{{Key: "getMore", Value: r.cursor}}
	for _, e := range elements[1:] {
		out = append(out, bson.E{Key: e.Key(), Value: e.Value()})
	}
	return mustMarshal(out)
}

// writers are the commands that create a collection if it does not exist: before the first of them the configuration
// shards and indexes the collection. For create it does so afterwards, for aggregate and bulkWrite not at all.
var writers = []string{"aggregate", "bulkWrite", "create", "createIndexes", "findAndModify", "insert", "update"}

// prepare applies the configuration's sharding and indexes to the collection a
// command is about to create (after=false) or has created (after=true).
func (r *runner) prepare(t *testing.T, db string, cmd bson.Raw, after bool) {
	if (r.config.Shards == 0 && len(r.config.Indexes) == 0) || isSystem(db) {
		return
	}
	first, err := cmd.IndexErr(0)
	if err != nil || !slices.Contains(writers, first.Key()) || (first.Key() == "create") != after {
		return
	}
	coll, ok := first.Value().StringValueOK()
	if !ok || coll == "" || strings.HasPrefix(coll, "system.") || first.Key() == "aggregate" || r.prepared[db+"."+coll] {
		return
	}
	r.prepared[db+"."+coll] = true
	if kind, err := cmd.LookupErr("viewOn"); err == nil && kind.Type == bson.TypeString {
		return
	}
	if r.config.Shards > 0 {
		r.must(t, "admin", bson.D{
			{Key: "shardCollection", Value: db + "." + coll},
			{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}},
			{Key: "numInitialChunks", Value: r.config.Shards},
		})
	}
	for _, pattern := range r.config.Indexes {
		key, _ := parseCommand(pattern)
		r.must(t, db, bson.D{
			{Key: "createIndexes", Value: coll},
			{Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: key}, {Key: "name", Value: "config " + pattern}}}},
		})
	}
}

// must runs a command of the configuration itself.
func (r *runner) must(t *testing.T, db string, cmd bson.D) {
	t.Helper()
	reply, err := r.servers.command(db, mustMarshal(cmd))
	if err != nil {
		t.Fatal(err)
	}
	if text := Render(reply, true); strings.HasPrefix(text, "error") {
		t.Fatalf("configuration %s: %s: %s", r.config.Name, Text(cmd), text)
	}
}

// sameUnordered reports whether the replies equal the expected output. Batches of commands without a sort are
// compared as multisets.
func sameUnordered(commands, replies []string, want string) bool {
	wants := blocks(want)
	if len(wants) != len(replies) {
		return false
	}
	for i, reply := range replies {
		got, expected := strings.Split(reply, "\n"), wants[i]
		if !strings.Contains(commands[i], "sort") {
			slices.Sort(got[1:])
			slices.Sort(expected[1:])
		}
		if !slices.Equal(got, expected) {
			return false
		}
	}
	return true
}

// blocks splits a printed output into replies: a line and the indented lines after it.
func blocks(text string) [][]string {
	var out [][]string
	for _, line := range strings.Split(text, "\n") {
		if len(out) > 0 && strings.HasPrefix(line, "  ") {
			out[len(out)-1] = append(out[len(out)-1], line)
			continue
		}
		out = append(out, []string{line})
	}
	return out
}

// databaseOf returns the database that a command is sent to.
func databaseOf(cmd bson.Raw) string {
	if db, ok := cmd.Lookup("$db").StringValueOK(); ok {
		return db
	}
	return "test"
}

// isSystem reports whether a database belongs to the server.
func isSystem(db string) bool { return db == "admin" || db == "config" || db == "local" }

// mustMarshal encodes a document that is known to be encodable.
func mustMarshal(doc bson.D) bson.Raw {
	raw, err := bson.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return raw
}
