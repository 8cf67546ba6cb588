// Package address reads the addresses of servers on the command lines of verbs, and words the errors of servers that
// do not answer.
package address

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// plain is an address without a scheme: hosts with ports, IP addresses or localhost, or with a login any host; perhaps
// with a database and options. Other names alone are more likely a forgotten argument, or a file.
var plain = func() *regexp.Regexp {
	const (
		sure   = `(\[[0-9a-fA-F:.]+\](:[0-9]{1,5})?|[A-Za-z0-9._-]+:[0-9]{1,5}|[0-9]{1,3}(\.[0-9]{1,3}){3}|localhost)`
		named  = `(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?`
		behind = `(/[^/?]*)?(\?.*)?$`
	)
	return regexp.MustCompile(`^(` + sure + `(,` + sure + `)*|[^/?\s]+:[^/?\s]*@` + named + `(,` + named + `)*)` + behind)
}()

// URI returns the connection string that an argument means: 127.0.0.1:27017 stands for mongodb://127.0.0.1:27017/. A
// login, several hosts, a database and options may be part of it. It returns other texts unchanged.
func URI(text string) string {
	if !plain.MatchString(text) {
		return text
	}
	hosts, options, some := strings.Cut(text, "?")
	if !strings.Contains(hosts, "/") {
		hosts += "/"
	}
	if some {
		hosts += "?" + options
	}
	return "mongodb://" + hosts
}

// NoAnswer returns the error of a verb that found no server in time. err is the driver's error: its reason is added if
// there is advice for it.
func NoAnswer(uri string, err error) error {
	var failed topology.ServerSelectionError
	if errors.As(err, &failed) {
		for _, s := range failed.Desc.Servers {
			if reason := unreachable(uri, s.LastError); reason != "" {
				return fmt.Errorf("%s: %s", Redact(uri), reason)
			}
		}
	}
	return fmt.Errorf("no answer from %s; is the server running?", Redact(uri))
}

// NoLogin returns the error of a verb whose login the server refuses.
func NoLogin(uri string) error {
	return fmt.Errorf("%s answers, and refuses the login: correct user, password and authSource in the connection string", Redact(uri))
}

// closed finds the texts of errors of a connection that the server has closed.
var closed = regexp.MustCompile(`EOF|socket was unexpectedly closed|connection reset|first record does not look like`)

// unreachable returns a sentence about an error of a connection, "" if there is no other advice than for a server that
// is not running.
func unreachable(uri string, err error) string {
	var name *net.DNSError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("the name %s does not resolve to an address: correct it, or add it to the DNS", name.Name)
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s could not be looked up: %s", name.Name, name.Err)
	case strings.Contains(err.Error(), "certificate"):
		return fmt.Sprintf("the certificate of the server is not accepted (%v): give its authority by tlsCAFile in the connection string", root(err))
	case !closed.MatchString(err.Error()):
		return ""
	case strings.Contains(uri, "tls=true"), strings.Contains(uri, "ssl=true"):
		return "the server closes the connection: if it does not use TLS, remove tls=true from the connection string"
	}
	return "the server closes the connection: if it requires TLS, add tls=true to the connection string"
}

// root returns the innermost error of err.
func root(err error) error {
	for next := err; next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}
