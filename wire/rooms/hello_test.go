package rooms

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/command"
)

// TestHelloPersonality checks that one server appears as a mongos at the MongoDB address and as a replica set at the
// Cosmos address.
func TestHelloPersonality(t *testing.T) {
	w := newWorld(t, nil)
	r := w.dial().ok(`{hello: 1}`)
	if text(r.Get("msg")) != "isdbgrid" || !r.Get("setName").IsMissing() || !r.Get("isWritablePrimary").Truthy() {
		t.Errorf("mongos: %v", r)
	}
	r = w.dial().ok(`{ismaster: 1, helloOk: true}`)
	if !r.Get("ismaster").Truthy() || !r.Get("helloOk").Truthy() || !r.Get("isWritablePrimary").IsMissing() {
		t.Errorf("old spelling: %v", r)
	}
	r = w.dialAs(command.TagCosmos).ok(`{hello: 1}`)
	if text(r.Get("setName")) != "globaldb" || text(at(r, "hosts.0")) != text(r.Get("me")) || text(r.Get("primary")) != text(r.Get("me")) || !r.Get("msg").IsMissing() {
		t.Errorf("cosmos: %v", r)
	}
}

// TestHelloArguments: the allowed arguments of a handshake.
func TestHelloArguments(t *testing.T) {
	const driver, os = `driver: {name: "d", version: "1"}`, `os: {type: "Linux"}`
	for cmd, want := range map[string]int64{
		`{hello: 1, client: {` + driver + `, ` + os + `}}`:      0,
		`{hello: 1, client: {` + os + `}}`:                      183,
		`{hello: 1, client: {driver: {name: "d"}, ` + os + `}}`: 183,
		`{hello: 1, client: 1}`:                                 14,
		`{hello: 1, client: {application: {name: "` + strings.Repeat("a", 129) + `"}, ` + driver + `,` + os + `}}`: 184,
		`{hello: 1, client: {x: "` + strings.Repeat("a", 512) + `", ` + driver + `,` + os + `}}`:                   185,
		`{hello: 1, compression: "zlib"}`:                            14,
		`{hello: 1, saslSupportedMechs: "x"}`:                        2,
		`{hello: 1, maxAwaitTimeMS: 10}`:                             31372,
		`{hello: 1, topologyVersion: {counter: {$numberLong: "0"}}}`: 40414,
		`{hello: 1, topologyVersion: {processId: {$oid: "000000000000000000000000"}, counter: {$numberLong: "-1"}}, maxAwaitTimeMS: 1}`: 31370,
		`{hello: 1, topologyVersion: {processId: {$oid: "000000000000000000000000"}, counter: {$numberLong: "0"}}}`:                     31368,
		`{hello: 1, future: true}`: 0,
	} {
		if got := newWorld(t, nil).dial().code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
	c := newWorld(t, nil).dial()
	c.ok(`{hello: 1, client: {` + driver + `, ` + os + `}}`)
	if got := c.code(`{hello: 1, client: {` + driver + `, ` + os + `}}`); got != 186 {
		t.Errorf("metadata sent twice: %d", got)
	}
	r := c.ok(`{hello: 1, compression: ["lzo", "zstd", "snappy", "zstd"]}`)
	if text(at(r, "compression.0")) != "zstd" || text(at(r, "compression.1")) != "snappy" || !at(r, "compression.2").IsMissing() {
		t.Errorf("compression: %v", r)
	}
}

// TestHelloAwaits checks that a hello with the present topology version waits, that one with another version does
// not, and that waiting ends when the client disconnects.
func TestHelloAwaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c := w.dial()
		version := at(c.ok(`{hello: 1}`), "topologyVersion")
		await := func(id string, ms string) string {
			return `{hello: 1, topologyVersion: {processId: {$oid: "` + id + `"}, counter: {$numberLong: "0"}}, maxAwaitTimeMS: ` + ms + `}`
		}
		d, _ := version.Doc()
		process, _ := d.Get("processId").ObjectID()
		const hex = "0123456789abcdef"
		id := ""
		for _, b := range process {
			id += string(hex[b>>4]) + string(hex[b&15])
		}
		for _, name := range []string{"hello", "isMaster"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			waiter := w.dial()
			go waiter.send(ctx, 0, strings.Replace(await(id, "60000"), "hello", name, 1))
			synctest.Wait()
			if n := number(at(c.ok(`{serverStatus: 1}`), "connections.awaitingTopologyChanges")); n != 1 {
				t.Errorf("%d wait while one %s does", n, name)
			}
			cancel(wire.ErrClientGone)
			synctest.Wait()
		}
		if n := number(at(c.ok(`{serverStatus: 1}`), "connections.awaitingTopologyChanges")); n != 0 {
			t.Errorf("%d wait when all are gone", n)
		}
		begin := time.Now()
		c.ok(await(id, "30"))
		if waited := time.Since(begin); waited != 30*time.Millisecond {
			t.Errorf("it waited for %v", waited)
		}
		begin = time.Now()
		c.ok(await("000000000000000000000000", "60000"))
		if time.Since(begin) != 0 {
			t.Error("it waited with the topology version of another process")
		}
		if _, more, err := c.send(t.Context(), wire.ExhaustAllowed, await(id, "1")); err != nil || !more {
			t.Errorf("exhaust: more %v, %v", more, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(wire.ErrClientGone) })
		r, _, err := w.dial().send(ctx, 0, await(id, "60000")) // on another connection, because each has one context
		if err != nil || number(r.Get("code")) != 279 {
			t.Errorf("the client was gone: %v %v", r, err)
		}
	})
}
