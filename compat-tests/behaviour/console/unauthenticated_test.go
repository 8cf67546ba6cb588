package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/serve/httplimit"
)

// TestLiveEnds checks that a live stream of the console ends when its user loses the right to it: the role, the user,
// the password or the browser's login is gone. Other streams go on.
func TestLiveEnds(t *testing.T) {
	s := start(t, "--auth")
	s.run("admin", `{"createUser": "root", "pwd": "r", "roles": ["root"]}`)
	s.client.Disconnect(t.Context())
	s.client = s.connect("root:r")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := func(set func(*http.Request)) *bufio.Reader {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/api/v1/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		set(r)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { reply.Body.Close() })
		b := bufio.NewReader(reply.Body)
		if _, err := b.ReadString('\n'); err != nil || reply.StatusCode != 200 {
			t.Fatalf("status %d, %v", reply.StatusCode, err)
		}
		return b
	}
	login := func(name string) string {
		t.Helper()
		a := s.post("/api/v1/login", `{"user": "`+name+`", "password": "p"}`)
		a.want(200)
		cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
		return cookie
	}
	s.run("admin", `{"createUser": "stays", "pwd": "p", "roles": ["clusterMonitor"]}`)
	stays := []*bufio.Reader{open(func(r *http.Request) { r.SetBasicAuth("stays", "p") }), open(header("Cookie", login("stays")))}
	for name, end := range map[string]string{
		"revoked":  `{"revokeRolesFromUser": "revoked", "roles": ["clusterMonitor"]}`,
		"dropped":  `{"dropUser": "dropped"}`,
		"changed":  `{"updateUser": "changed", "pwd": "other"}`,
		"less":     `{"updateUser": "less", "roles": ["read"]}`,
		"loggedof": "",
	} {
		s.run("admin", `{"createUser": "%s", "pwd": "p", "roles": ["clusterMonitor"]}`, name)
		cookie := login(name)
		streams := map[string]*bufio.Reader{"a cookie": open(header("Cookie", cookie))}
		if end != "" {
			streams["a password"] = open(func(r *http.Request) { r.SetBasicAuth(name, "p") })
			s.run("admin", "%s", end)
		} else {
			s.send("POST", "/api/v1/logout", "{}", header("Cookie", cookie)).want(200)
		}
		for by, b := range streams {
			if _, err := io.Copy(io.Discard, b); err != nil {
				t.Errorf("%s: the stream by %s: %v", name, by, err)
			}
		}
		if a := s.send("GET", "/api/v1/lines", "", header("Cookie", cookie)); a.status != 401 && a.status != 403 {
			t.Errorf("%s: the cookie is good for status %d", name, a.status)
		}
	}
	for i, b := range stays {
		for frames := 0; frames < 2; {
			line, err := b.ReadString('\n')
			if err != nil {
				t.Fatalf("stream %d of somebody else: %v", i, err)
			}
			if strings.HasPrefix(line, "data: ") {
				frames++
			}
		}
	}
}

// TestConnections checks that the number of HTTP connections from one address is limited, and that further ones are
// closed at once.
func TestConnections(t *testing.T) {
	s := start(t, "--metrics-listen", "127.0.0.1:0")
	for name, url := range map[string]string{"console": s.url, "metrics": s.daemon.MetricsURL()} {
		at := strings.Split(url, "/")[2]
		ask := func() (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
			_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
			_, err = c.Read(make([]byte, 1))
			return c, err
		}
		var held []net.Conn
		for len(held) < httplimit.MaxPerAddress {
			c, err := ask()
			if err != nil {
				break // a client of the test itself has one
			}
			held = append(held, c)
		}
		if len(held) < httplimit.MaxPerAddress-4 {
			t.Fatalf("%s: %d connections of one address are served", name, len(held))
		}
		var timeout net.Error
		if _, err := ask(); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s: one more connection: %v", name, err)
		}
		held[0].Close()
		for begun := time.Now(); ; {
			if _, err := ask(); err == nil {
				break
			} else if time.Since(begun) > 30*time.Second {
				t.Fatalf("%s: no connection after another has gone: %v", name, err)
			}
		}
	}
}

// TestForeignMetrics checks that metrics on an address of this machine are refused to requests with a foreign host
// name, as DNS rebinding sends them.
func TestForeignMetrics(t *testing.T) {
	s := start(t, "--metrics-listen", "127.0.0.1:0")
	s.url = s.daemon.MetricsURL()
	for _, host := range []string{"evil.example", "evil.example:9216", "127.0.0.1.evil.example", "10.0.0.1"} {
		s.send("GET", "", "", header("Host", host)).want(http.StatusMisdirectedRequest, "this machine only")
	}
	for _, host := range []string{"localhost", "127.0.0.1:1", "[::1]:9216", "LOCALHOST:80"} {
		s.send("GET", "", "", header("Host", host)).want(200, "cantle_info")
	}
}
