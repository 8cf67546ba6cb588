package rooms

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/session"
)

// world is a Server without a network.
type world struct {
	*Server
	t     testing.TB
	conns int64
	tag   string // tag of the listener to which dial connects; "" for the one that appears as a mongos
}

// newWorld returns a whole server without a network, over a store; nil means a new store in memory.
func newWorld(t testing.TB, store storage.Store) *world {
	t.Helper()
	return newWorldAt(t, store, time.Now, &ratelimit.Budgets{})
}

// newWorldAt returns a server as newWorld does, with a clock and budgets of the test.
func newWorldAt(t testing.TB, store storage.Store, now func() time.Time, budgets *ratelimit.Budgets) *world {
	t.Helper()
	if store == nil {
		store = memkv.Open(memkv.Options{})
		t.Cleanup(func() { store.Close() })
	}
	cat, err := catalog.Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	board := &tally.Board{}
	runner := jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: now})
	cl := cluster.New(cluster.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: now})
	definer := ddl.New(cl, ddl.Config{Store: store, Catalog: cat, Tally: board, Jobs: runner})
	cl.AttachDefiner(definer)
	if err := runner.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	definer.RestoreBudgets()
	cursors := cursor.New(cursor.Config{})
	sessions := session.New(session.Config{History: session.NewStore(store), OnEnd: func(id session.ID) { cursors.KillSession(id) }})
	t.Cleanup(cursors.Close)
	users, err := auth.Open(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, Server: New(Config{Config: command.Config{
		Cluster: cl, DDL: definer, Auth: users, Cursors: cursors, Sessions: sessions, Jobs: runner, TestCommands: true,
	}})}
	w.Attach()
	return w
}

// client is one connection; it implements wire.Conn.
type client struct {
	w     *world
	id    int64
	tag   string
	state any
	local bool // it connects from this machine
	pool  wire.Pool
}

func (w *world) dial() *client { return w.dialAs(cmp.Or(w.tag, "mongos")) }

func (w *world) dialAs(tag string) *client {
	w.conns++
	c := &client{w: w, id: w.conns, tag: tag}
	if err := w.Connect(c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// enter logs a user in on a connection.
func (w *world) enter(c *client, l *command.Login) {
	p := c.state.(*command.ConnState)
	p.Login, p.User = l, l.User()
	p.Owner = session.OwnerOf(p.User.Name, p.User.DB)
}

func (c *client) ID() int64   { return c.id }
func (c *client) Tag() string { return c.tag }
func (c *client) Remote() net.Addr {
	if c.local {
		return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1000 + int(c.id)}
	}
	return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1000 + int(c.id)}
}
func (c *client) Local() net.Addr    { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 27017} }
func (c *client) Opened() time.Time  { return time.Time{} }
func (c *client) State() any         { return c.state }
func (c *client) SetState(v any)     { c.state = v }
func (c *client) Close(error)        {}
func (c *client) SurviveDisconnect() {}
func (c *client) HangUpAfterReply()  {}

// Draining returns a context that never ends, because the server of these tests never stops.
func (c *client) Draining() context.Context { return context.Background() }

func (c *client) SetUnauthenticated(bool) {}
func (c *client) ChargeTo(string)         {}

func (c *client) NegotiateCompressors(offered wire.Compressors) wire.Compressors {
	return offered & wire.AllCompressors
}
func (c *client) TLS() *tls.ConnectionState { return nil }

// send runs a command, given as Extended JSON, and returns its reply. The command is sent to the database test
// unless it has $db. more is true if the command has further replies, as one to an exhaust request may have.
func (c *client) send(ctx context.Context, flags wire.Flags, text string) (reply bson.Raw, more bool, err error) {
	doc, err := ejson.Parse(text)
	if err != nil {
		return nil, false, err
	}
	if _, ok := doc.Lookup("$db"); !ok {
		b := bson.NewBuilder(nil)
		b.Splice(doc.Elements())
		b.String("$db", "test")
		doc = b.Doc()
	}
	m := wire.Message{Header: wire.Header{OpCode: wire.OpMsg, RequestID: 1}, Flags: flags, Body: doc}
	out := wire.NewReply(&c.pool)
	out.Start(&m)
	if err := c.w.Handle(ctx, c, &m, out); err != nil {
		return nil, false, err
	}
	more = out.More
	b, err := out.Finish(1, 1)
	if err != nil {
		return nil, false, err
	}
	raw, err := bson.Parse(b[wire.HeaderSize+5:], bson.Limits{Depth: bson.MaxDepth + 1})
	return raw.Clone(), more, err
}

// run is send for commands that must have a reply.
func (c *client) run(text string) bson.Raw {
	c.w.t.Helper()
	r, _, err := c.send(c.w.t.Context(), 0, text)
	if err != nil {
		c.w.t.Fatalf("%s: %v", text, err)
	}
	return r
}

// ok is run for commands that must succeed.
func (c *client) ok(text string) bson.Raw {
	c.w.t.Helper()
	r := c.run(text)
	if !r.Get("ok").Truthy() {
		c.w.t.Fatalf("%s: %v", text, r)
	}
	return r
}

// code runs a command and returns the error code of its reply, 0 if the command succeeded or has only write errors.
func (c *client) code(text string) int64 {
	c.w.t.Helper()
	n, _ := c.run(text).Get("code").TruncInt64()
	return n
}

// at returns the value at a dotted path.
func at(doc bson.Raw, path string) bson.Value {
	v := doc.Value()
	for name := range strings.SplitSeq(path, ".") {
		d, ok := v.Doc()
		if !ok {
			if d, ok = v.Array(); !ok {
				return bson.Value{}
			}
		}
		v = d.Get(name)
	}
	return v
}

func text(v bson.Value) string { s, _ := v.Str(); return s }

func number(v bson.Value) int64 { n, _ := v.TruncInt64(); return n }
