package rooms

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A password appears in no error, log, profile or statistics, also if it was sent under a mistyped field name, in a
// nested command, or in a refused command.
func TestPasswordsAreNotShown(t *testing.T) {
	const marker = "MARKER-of-a-password"
	w := newWorld(t, nil)
	var log bytes.Buffer
	w.Log = zerolog.New(&log)
	c := w.dial()
	c.ok(`{profile: 2, slowms: -1}`)
	var commands []string
	for _, field := range []string{"pwd", "password", "passwd", "Pwd", "customData"} {
		for _, value := range []string{`"` + marker + `"`, `{a: ["` + marker + `"]}`, `["` + marker + `"]`} {
			commands = append(commands, `{createUser: "u", `+field+`: `+value+`, roles: []}`, `{updateUser: "u", `+field+`: `+value+`}`)
		}
	}
	commands = append(commands,
		`{createUser: {pwd: "`+marker+`"}, roles: []}`,
		`{saslStart: 1, mechanism: "PLAIN", payload: "`+marker+`"}`, `{saslContinue: 1, conversationId: 1, payLoad: "`+marker+`"}`,
		`{authenticate: 1, mechanism: "MONGODB-X509", key: "`+marker+`"}`,
		`{hello: 1, speculativeAuthenticate: {saslStart: 1, mechanism: "PLAIN", payload: "`+marker+`"}}`,
	)
	for _, inner := range commands {
		for _, text := range []string{
			inner,
			`{explain: ` + inner + `}`,
			`{explain: {explain: ` + inner + `}}`,
			`{applyOps: [{op: "c", ns: "test.$cmd", o: ` + inner + `}]}`,
			`{bulkWrite: 1, ops: [` + inner + `], nsInfo: [{ns: "test.c"}]}`,
			`{aggregate: 1, pipeline: [{$documents: [{a: ` + strings.ReplaceAll(inner, "$", "") + `}]}], cursor: {}}`,
		} {
			r := c.run(text)
			if msg := r.Get("errmsg").String(); strings.Contains(msg, marker) {
				t.Errorf("%s: %s", text, msg)
			}
		}
	}
	for _, place := range []string{`{find: "system.profile", batchSize: 5000}`, `{getLog: "global"}`, `{serverStatus: 1}`,
		`{aggregate: 1, pipeline: [{$queryStats: {}}], cursor: {}, $db: "admin"}`, `{customAction: "GetRequestReport"}`} {
		r := c.run(place).String()
		if i := strings.Index(r, marker); i >= 0 {
			t.Errorf("%s shows …%s", place, r[max(0, i-300):i+len(marker)])
		}
	}
	if i := strings.Index(log.String(), marker); i >= 0 {
		t.Errorf("the log shows …%s", log.String()[max(0, i-300):i+len(marker)])
	}
	if !strings.Contains(log.String(), "createUser") {
		t.Error("the log shows nothing at all")
	}
}
