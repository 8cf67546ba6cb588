package main

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/cmd/cantle/cli"
	"github.com/cantledb/cantle/serve/daemon"
)

// The output and exit status for help and for wrong command lines. All cases end before a server is started.
func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args     string
		status   int
		out, err string // texts that the two outputs must contain; "" if the output must be empty
	}{
		{"", 2, "", "cantle serve "},
		{"--help", 0, "cantle partitions URI db.collection", ""},
		{"help dump", 0, "Usage: cantle dump", ""},
		{"help serve", 0, "\nSecurity:\n  --allow-open", ""},
		{"version", 0, "cantle " + daemon.Version, ""},
		{"--version", 0, "cantle " + daemon.Version, ""},
		{"version 1", 2, "", `unexpected argument "1"`},
		{"serv", 2, "", `there is no command "serv"; did you mean "serve"?`},
		{"--memory", 2, "", "cantle serve --memory"},
		{"serve --lisen 127.0.0.1:0", 2, "", "there is no flag --lisen; did you mean --listen?\nSee cantle serve --help\n"},
		{"serve --memory 127.0.0.1:0", 2, "", `unexpected argument "127.0.0.1:0"`},
		{"serve --memory --data ./db", 2, "", "give one of them"},
		{"serve --config /nonexistent/file", 2, "", "--config: open /nonexistent/file"},
		{"serve --memory --partitions -4", 2, "", "--partitions is at least 1"},
		{"serve --memory --listen 127.0.0.1", 2, "", "host:port, such as 127.0.0.1:27017"},
		{"serve --port 27018", 2, "", "there is no flag --port: it is mongod's; use --listen 127.0.0.1:PORT\n"},
		{"serve --memory --fork", 2, "", "there is no flag --fork: it is mongod's; the server stays in the foreground"},
		{"serve -f mongod.conf", 2, "", "there is no flag -f: it is mongod's; use --config FILE"},
		{"--dbpath ./db", 2, "", "cantle serve --data FOLDER\n"},
		{"stop", 2, "", `there is no command "stop": press Ctrl-C`},
		{"shell", 2, "", "mongosh mongodb://127.0.0.1:27017/"},
		{"status", 2, "", `"cantle ping" checks whether a server answers`},
		{"serve --memory --log-level loud --check-config --partitions 0", 2, "", "cantle serve: --partitions is at least 1\ncantle serve: --log-level=loud"},
		{"serve --check-config --config", 2, "", "cantle serve: --config needs a value"},
		{"serve --check-config --memory", 0, "the settings are valid: 1 on the command line\n", ""},
		{"dump", 2, "", "cantle dump mongodb://127.0.0.1:27017/"},
	} {
		var out, errs strings.Builder
		status := cli.Run(t.Context(), strings.Fields(c.args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, serve)
		holds := func(text, want string) bool { return strings.Contains(text, want) && (want != "" || text == "") }
		if status != c.status || !holds(out.String(), c.out) || !holds(errs.String(), c.err) {
			t.Errorf("cantle %s: status %d\n%s%s", c.args, status, out.String(), errs.String())
		}
	}
}
