package console

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/serve/daemon"
)

// header sets a header of a request.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
}

// TestForeign checks that pages of other sites reach nothing in the console: neither through a host name of theirs
// that resolves to this address (DNS rebinding), nor through requests that a browser sends on their behalf.
func TestForeign(t *testing.T) {
	s := start(t)
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "10.0.0.1", ""} {
		if host != "" {
			s.send("GET", "/api/v1/server", "", header("Host", host)).want(http.StatusMisdirectedRequest)
		}
	}
	for _, host := range []string{"localhost", "127.0.0.1:1", "[::1]:8080", "LOCALHOST:80"} {
		s.send("GET", "/api/v1/server", "", header("Host", host)).want(200)
	}
	s.send("POST", "/api/v1/find", `{}`, header("Origin", "http://evil.example")).want(403, "another site")
	s.send("POST", "/api/v1/find", `{}`, header("Sec-Fetch-Site", "cross-site")).want(403, "another site")
	s.send("POST", "/api/v1/find", `{}`, header("Content-Type", "text/plain")).want(415)
	a := s.get("/")
	a.want(200, "<html")
	for name, value := range map[string]string{"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
		if !strings.HasPrefix(a.header.Get(name), value) {
			t.Errorf("%s: %q", name, a.header.Get(name))
		}
	}
	if a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other sites may read")
	}
	s.send("POST", "/api/v1/find", `{"ns": "`+strings.Repeat("x", 2<<20)+`"}`).want(400, "more than")
}

// TestNeverOpen checks that a server does not start with a console on an address of other machines, neither with
// --allow-open nor with --auth, because passwords would be readable on the network.
func TestNeverOpen(t *testing.T) {
	for _, flags := range [][]string{
		{"--console-listen", "0.0.0.0:0"},
		{"--console-listen", "0.0.0.0:0", "--allow-open"},
		{"--console-listen", ":0", "--auth"}, // passwords would be readable
	} {
		var cfg daemon.Config
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		cfg.Flags(f)
		if err := f.Parse(append([]string{"--memory", "--listen", "127.0.0.1:0"}, flags...)); err != nil {
			t.Fatal(err)
		}
		d, err := daemon.Start(t.Context(), cfg, io.Discard)
		if err == nil {
			d.Stop()
			t.Errorf("%v: it listens", flags)
		} else if !strings.Contains(err.Error(), "--console-listen be an address of this machine") {
			t.Errorf("%v: %v", flags, err)
		}
	}
}

// users creates root, a reader of one database, a user that may see the load, and one that can log in by SCRAM-SHA-1
// only.
func (s *server) users() {
	s.t.Helper()
	s.run("admin", `{"createUser": "root", "pwd": "r", "roles": ["root"]}`)
	s.client.Disconnect(s.t.Context())
	s.client = s.connect("root:r")
	s.run("admin", `{"createUser": "reader", "pwd": "p", "roles": [{"role": "read", "db": "test"}]}`)
	s.run("admin", `{"createUser": "watcher", "pwd": "w", "roles": ["clusterMonitor"]}`)
	s.run("admin", `{"createUser": "old", "pwd": "o", "roles": [], "mechanisms": ["SCRAM-SHA-1"]}`)
}

// TestPrivileges checks which requests to the API of the console each user is allowed, and that lists leave out what
// a reader may not see.
func TestPrivileges(t *testing.T) {
	s := start(t, "--auth")
	s.users()
	s.orders()
	s.run("secret", `{"insert": "c", "documents": [{"_id": 1}]}`)
	const (
		yes    = 200
		no     = 403
		nobody = 401
	)
	for _, c := range []struct {
		path, body                    string
		stranger, root, reader, watch int
	}{
		{"/server", "", yes, yes, yes, yes},
		{"/lines", "", nobody, yes, no, yes},
		{"/heat", "", nobody, yes, no, yes},
		{"/heat?ns=test.orders", "", nobody, yes, yes, yes},
		{"/heat?ns=secret.c", "", nobody, yes, no, yes},
		{"/events", "", nobody, yes, no, yes},
		{"/events?ns=test.orders", "", nobody, yes, yes, yes},
		{"/live", "", nobody, 0, no, 0},
		{"/collections", "", nobody, yes, yes, yes},
		{"/collection?ns=test.orders", "", nobody, yes, yes, no},
		{"/collection?ns=secret.c", "", nobody, yes, no, no},
		{"/partitions?ns=secret.c", "", nobody, yes, no, 0},
		{"/requests?ns=secret.c", "", nobody, yes, no, yes},
		{"/requests/range?ns=secret.c", "", nobody, yes, no, yes},
		{"/operations", "", nobody, yes, yes, yes},
		{"/warnings", "", nobody, yes, yes, yes},
		{"/disk", "", nobody, yes, no, yes},
		{"/status", "", nobody, yes, no, yes},
		{"/log", "", nobody, yes, no, yes},
		{"/find", `{"ns": "test.orders"}`, nobody, yes, yes, no},
		{"/find", `{"ns": "secret.c"}`, nobody, yes, no, no},
		{"/aggregate", `{"ns": "test.orders", "pipeline": "[{$count: 'n'}]"}`, nobody, yes, yes, no},
		{"/aggregate", `{"ns": "secret.c", "pipeline": []}`, nobody, yes, no, no},
		{"/explain", `{"ns": "secret.c"}`, nobody, yes, no, no},
		{"/replay", `{"ns": "secret.c"}`, nobody, 0, no, 0},
		{"/partitions/merge", `{"ns": "test.orders", "whatIf": true}`, nobody, yes, no, no},
		{"/partitions/split", `{"ns": "test.orders", "id": "0"}`, nobody, yes, no, no},
		{"/throughput", `{"ns": "test.orders", "manual": 4000}`, nobody, yes, no, no},
		{"/collection/index", `{"ns": "test.orders", "key": {"a": 1}}`, nobody, yes, no, no},
		{"/operations/kill", `{"id": 1}`, nobody, yes, no, no},
	} {
		for _, who := range []struct {
			user string
			want int
		}{{"", c.stranger}, {"reader:p", c.reader}, {"watcher:w", c.watch}, {"root:r", c.root}} {
			user, want := who.user, who.want
			if want == 0 {
				continue
			}
			s.user = user
			method := "GET"
			if c.body != "" {
				method = "POST"
			}
			if a := s.send(method, "/api/v1"+c.path, c.body); a.status != want {
				t.Errorf("%s %s for %q: status %d, want %d: %.200s", method, c.path, user, a.status, want, a.text)
			}
		}
	}
	s.user = "reader:p"
	if a := s.get("/api/v1/collections"); strings.Contains(a.text, "secret") || !strings.Contains(a.text, "test.orders") {
		t.Errorf("the reader's collections: %s", a.text)
	}
	if a := s.get("/api/v1/operations"); !strings.Contains(a.text, `"all":false`) {
		t.Errorf("the reader's operations: %.300s", a.text)
	}
	const values, callers = `"key":{"customer":`, `"callers":[{"driver":"mongo-go-driver"`
	if a := s.get("/api/v1/partitions?ns=test.orders"); !strings.Contains(a.text, values) || strings.Contains(a.text, callers) {
		t.Errorf("a user that may read the documents must see values, and no applications: %.600s", a.text)
	}
	s.user = "watcher:w"
	if a := s.get("/api/v1/partitions?ns=test.orders"); strings.Contains(a.text, values) || !strings.Contains(a.text, callers) {
		t.Errorf("a user that watches the server must see applications, and no values: %.600s", a.text)
	}
	s.get("/api/v1/requests?ns=test.orders").want(200, callers, `"user":"root@admin"`)
	s.get("/api/v1/status").want(200, `"driver":"mongo-go-driver"`, `"user":"root"`)
}

// TestLogin checks that a login to the console is a cookie that scripts and other sites do not get, and that the
// login ends on logout.
func TestLogin(t *testing.T) {
	s := start(t, "--auth")
	s.users()
	s.post("/api/v1/login", `{"user": "reader", "password": "wrong"}`).want(401, "Authentication failed")
	s.post("/api/v1/login", `{"user": "stranger", "password": "p"}`).want(401, "Authentication failed")
	s.post("/api/v1/login", `{"user": "old", "password": "o"}`).want(200, `"user":"old@admin"`)
	a := s.post("/api/v1/login", `{"user": "reader", "password": "p"}`)
	a.want(200, `"user":"reader@admin"`, `"read@test"`, `"load":false`)
	set := a.header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(set, part) {
			t.Errorf("no %s in %s", part, set)
		}
	}
	s.cookie, _, _ = strings.Cut(set, ";")
	s.post("/api/v1/find", `{"ns": "test.orders"}`).want(200)
	s.post("/api/v1/find", `{"ns": "secret.c"}`).want(403)
	s.run("admin", `{"grantRolesToUser": "reader", "roles": [{"role": "read", "db": "secret"}]}`)
	s.post("/api/v1/find", `{"ns": "secret.c"}`).want(200) // as for a driver's connection
	s.post("/api/v1/logout", ``).want(200)
	s.post("/api/v1/find", `{"ns": "test.orders"}`).want(401, "Log in first")
	s.cookie = ""
	s.cookie, _, _ = strings.Cut(s.post("/api/v1/login", `{"user": "reader", "password": "p"}`).header.Get("Set-Cookie"), ";")
	s.run("admin", `{"dropUser": "reader"}`)
	s.post("/api/v1/find", `{"ns": "test.orders"}`).want(401)
	s.cookie = cookieOf("forged")
	s.get("/api/v1/lines").want(401)
}

func cookieOf(token string) string { return "cantle_console=" + token }
