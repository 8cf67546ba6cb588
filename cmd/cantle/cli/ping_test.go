package cli

import (
	"net"
	"strings"
	"testing"
)

// The exit status of cantle ping reports whether a server answers; if nothing answers, ping times out.
func TestPing(t *testing.T) {
	uri, _ := start(t)
	address := strings.Trim(strings.TrimPrefix(uri, "mongodb://"), "/")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct {
		args     string
		status   int
		out, err string // their expected beginnings
	}{
		{uri, 0, uri + " answers in ", ""},
		{address, 0, uri + " answers in ", ""},
		{"nohost.invalid:27017 --timeout 200ms", 1, "", "cantle ping: mongodb://nohost.invalid:27017/: the name nohost.invalid "},
		{"mongodb://nobody:wrong@" + address + "/", 1, "", "cantle ping: mongodb://***@" + address + "/ answers, and refuses the login"},
		{"nobody:wrong@" + address, 1, "", "cantle ping: mongodb://***@" + address + "/ answers, and refuses the login"},
		{uri + "?replicaSet=rs0 --timeout 100ms", 1, "", "cantle ping: "},
		{uri + "?tls=true --timeout 200ms", 1, "", "cantle ping: " + uri + "?tls=true: the server closes the connection: if it does not use TLS"},
		{"mongodb://" + silent.Addr().String() + "/ --timeout 100ms", 1, "", "cantle ping: no answer from mongodb://"},
		{"mongodb://127.0.0.1:1,127.0.0.1:2/", 2, "", "cantle ping: only one server can be checked at a time"},
		{"nonsense", 2, "", "cantle ping: error parsing uri"},
		{uri + " " + uri, 2, "", "cantle ping: expected one connection string"},
	} {
		var out, errs strings.Builder
		status := verbStatus(t, "ping", "", &out, &errs, strings.Fields(c.args)...)
		holds := func(text, want string) bool { return strings.HasPrefix(text, want) && (want != "" || text == "") }
		if status != c.status || !holds(out.String(), c.out) || !holds(errs.String(), c.err) {
			t.Errorf("ping %s: status %d\n%s%s", c.args, status, out.String(), errs.String())
		}
	}
}
