package status

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/wire/command"
)

// runGetCmdLineOpts replies with the program's arguments, without secrets, and with the addresses of its console and its
// metrics.
// Manual: reference/command/getCmdLineOpts.
func (s *State) runGetCmdLineOpts(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	b := c.Reply
	b.BeginArray("argv")
	if len(s.CommandLine) == 0 {
		b.String("", "cantle")
	}
	for _, a := range hideSecrets(s.CommandLine) {
		b.String("", a)
	}
	b.End()
	b.BeginDoc("parsed")
	b.BeginDoc("net")
	for _, page := range []struct {
		name string
		at   func() string
	}{{"console", s.Console}, {"metrics", s.MetricsPage}} {
		if page.at != nil && page.at() != "" {
			b.String(page.name, page.at())
		}
	}
	b.End()
	if r, ok := c.ShownSet(); ok {
		b.BeginDoc("replication")
		b.String("replSet", r.Name)
		b.End()
	}
	b.End()
	return nil
}

// hideSecrets returns a command line with its passwords replaced, and without the credentials of its addresses.
func hideSecrets(args []string) []string {
	out := make([]string, len(args))
	hide := false
	for i, a := range args {
		name, _, assigned := strings.Cut(a, "=")
		secret := slices.Contains([]string{"cosmos-key", "initdb-root-password", "otlp-headers", "tls-certificate-key-file-password"}, strings.TrimLeft(name, "-")) && strings.HasPrefix(a, "-")
		switch {
		case hide:
			out[i] = "<password>"
		case secret && assigned:
			out[i] = name + "=<password>"
		default:
			out[i] = WithoutCredentials(a)
		}
		hide = secret && !assigned && !hide
	}
	return out
}

// WithoutCredentials returns an argument of a command line in which an address (scheme://…) has lost its user and
// password, and its query, which can have keys.
func WithoutCredentials(argument string) string {
	scheme, rest, ok := strings.Cut(argument, "://")
	if !ok {
		return argument
	}
	at, query := strings.LastIndexByte(rest, '@'), strings.IndexAny(rest, "?#")
	switch {
	case at >= 0 && query >= 0 && query < at: // a part of either
		return scheme + "://***"
	case query >= 0:
		rest = rest[:query+1] + "***"
	}
	if at >= 0 {
		rest = "***" + rest[at:]
	}
	return scheme + "://" + rest
}
