package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/cmd/cantle/cli"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// server is a tested server with a console, and the credentials with which the test sends requests to the console.
type server struct {
	t       testing.TB
	daemon  *daemon.Daemon
	url     string // of the console, without a slash at the end
	client  *mongo.Client
	user    string // name:password, "" for no login
	cookie  string
	stopped bool // the server's clock is stopped
	ended   bool // by end
}

// start starts a server with a console.
func start(t testing.TB, flags ...string) *server {
	t.Helper()
	return startWith(t, nil, append([]string{"--memory"}, flags...)...)
}

// startWith starts a server with a console. files, if not nil, changes the options of its store in files.
func startWith(t testing.TB, files func(*pebblekv.Options), flags ...string) *server {
	t.Helper()
	var cfg daemon.Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse(append([]string{"--listen", "127.0.0.1:0", "--console-listen", "127.0.0.1:0", "--enable-test-commands", "--drain", "1s"}, flags...)); err != nil {
		t.Fatal(err)
	}
	cfg.Files = files
	cfg.ConsoleTools = cli.ConsoleTools()
	d, err := daemon.Start(t.Context(), cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, daemon: d, url: strings.TrimSuffix(d.ConsoleURL(), "/")}
	s.client = s.connect("")
	t.Cleanup(s.end)
	return s
}

// end stops the server, unless it has stopped.
func (s *server) end() {
	if s.ended {
		return
	}
	s.ended = true
	s.client.Disconnect(s.t.Context())
	if err := s.daemon.Stop(); err != nil {
		s.t.Error(err)
	}
	if panics, unforeseen := s.daemon.Defects(); panics+unforeseen > 0 {
		s.t.Errorf("the server met %d panics and answered %d errors that nobody has foreseen", panics, unforeseen)
	}
}

// connect connects a driver to the server, logged in if user (name:password) is not "".
func (s *server) connect(user string, more ...*options.ClientOptions) *mongo.Client {
	s.t.Helper()
	uri := s.daemon.URI()
	if user != "" {
		uri = strings.Replace(uri, "mongodb://", "mongodb://"+user+"@", 1) + "?authSource=admin"
	}
	c, err := mongo.Connect(append(more, options.Client().ApplyURI(uri))...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// run runs a command, as Extended JSON, that must succeed.
func (s *server) run(db, command string, args ...any) bson.M {
	s.t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON(fmt.Appendf(nil, command, args...), false, &d); err != nil {
		s.t.Fatalf("%s: %v", command, err)
	}
	var out bson.M
	if err := s.client.Database(db).RunCommand(s.t.Context(), d).Decode(&out); err != nil {
		s.t.Fatalf("%s: %v", command, err)
	}
	return out
}

// try runs a command, as Extended JSON, that may fail.
func (s *server) try(db, command string) {
	s.t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(command), false, &d); err != nil {
		s.t.Fatalf("%s: %v", command, err)
	}
	_ = s.client.Database(db).RunCommand(s.t.Context(), d).Err()
}

// stop stops the server's clock at noon of a day in the future. The function pass then advances the clock by seconds.
func (s *server) stop() {
	s.t.Helper()
	at := s.run("admin", `{"customAction": "Clock", "stop": true}`)["now"].(bson.DateTime).Time()
	s.run("admin", `{"customAction": "Clock", "advanceMs": %d}`, noon.Sub(at).Milliseconds())
	s.stopped = true
	s.get("/api/v1/lines?from=-1")
}

func (s *server) pass(seconds int) {
	s.t.Helper()
	s.get("/api/v1/lines?from=-1") // count earlier work in the second that ends
	s.run("admin", `{"customAction": "Clock", "advanceMs": %d}`, seconds*1000)
	s.get("/api/v1/lines?from=-1")
}

// answer is a response of the console.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	text   string
}

// send sends a request to the console and returns the reply; each change is applied to the request before.
func (s *server) send(method, path, body string, change ...func(*http.Request)) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, bytes.NewBufferString(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if name, password, ok := strings.Cut(s.user, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	if s.cookie != "" {
		r.Header.Set("Cookie", s.cookie)
	}
	for _, f := range change {
		f(r)
	}
	reply, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{s.t, reply.StatusCode, reply.Header, string(text)}
}

func (s *server) get(path string) answer        { s.t.Helper(); return s.send("GET", path, "") }
func (s *server) post(path, body string) answer { s.t.Helper(); return s.send("POST", path, body) }

// into decodes an answer that must be a success.
func (a answer) into(v any) {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("status %d: %s", a.status, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), v); err != nil {
		a.t.Fatalf("%v: %s", err, a.text)
	}
}

// want checks the HTTP status of a reply, and that the reply contains all of the texts.
func (a answer) want(status int, texts ...string) {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("status %d, want %d: %.400s", a.status, status, a.text)
	}
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			a.t.Errorf("no %q in %.1500s", text, a.text)
		}
	}
}

// orders creates the sharded collection test.orders with four partitions, and inserts 200 documents of 50 customers.
func (s *server) orders() {
	s.t.Helper()
	s.run("admin", `{"shardCollection": "test.orders", "key": {"customer": "hashed"}, "numInitialChunks": 4}`)
	for i := range 4 {
		var docs []string
		for j := range 50 {
			docs = append(docs, fmt.Sprintf(`{"_id": %d, "customer": "c%d", "total": %d, "items": [{"sku": %d}]}`, i*50+j, j, (i*50+j)%100, j%7))
		}
		s.run("test", `{"insert": "orders", "documents": [%s]}`, strings.Join(docs, ","))
	}
}
