package disk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// memtable is the memtable size of the servers in bytes: small, so that logs rotate, and flushes and compactions
// run.
const memtable = 64 << 10

// machine is a server inside the test on a simulated disk, with a client that has a connection to it.
type machine struct {
	*client
	daemon *daemon.Daemon
	store  storage.Store
	pipes  *pipes
	log    *text
	dead   atomic.Bool // the store has stopped, so that later replies do not count
	why    atomic.Pointer[string]
	// lost is called once when the store stops.
	lost func()
}

// settings are the parameters of a machine.
type settings struct {
	data  string // a folder on the real disk for spilled data; the store has the same path on the simulated disk
	files vfs.FS
	wrap  func(storage.Store) storage.Store // a planted bug
	now   func() time.Time
	flags []string
	lost  func()
	// reserve is the free disk space in bytes below which the server refuses writes; 0 = none.
	reserve int64
}

// start starts a server.
func start(s settings) (*machine, error) {
	m := &machine{pipes: newPipes(), log: &text{}, lost: s.lost}
	var cfg daemon.Config
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(set)
	flags := append([]string{"--data", s.data, "--listen=", "--cache-size=1MB", "--work-memory=32MB", "--log-level=warn", "--drain=5s"}, s.flags...)
	if err := set.Parse(flags); err != nil {
		return nil, err
	}
	cfg.Listeners, cfg.Now = []net.Listener{m.pipes}, s.now
	cfg.Wrap = func(store storage.Store) storage.Store {
		if s.wrap != nil {
			store = s.wrap(store)
		}
		m.store = store
		return store
	}
	cfg.Files = func(o *pebblekv.Options) {
		o.FS, o.MemtableBytes, o.ReserveBytes = s.files, memtable, cmp.Or(s.reserve, -1)
		o.Fatal, o.Exit, o.StallTries = m.fatal, func(int) {}, 5
	}
	m.client = &client{machine: m}
	var err error
	if m.daemon, err = daemon.Start(context.Background(), cfg, m.log); err != nil {
		return m, err
	}
	return m, nil
}

// fatal records the reason when the store stops, where a real process would end.
func (m *machine) fatal(message string) {
	if m.dead.CompareAndSwap(false, true) {
		m.why.Store(&message)
		if m.lost != nil {
			m.lost()
		}
		m.pipes.cut()
	}
}

// stop ends the server.
func (m *machine) stop() error {
	m.hangUp()
	return m.daemon.Stop()
}

// client is a connection to a machine.
type client struct {
	*machine
	conn *harness.Conn
}

// hangUp closes the connection.
func (c *client) hangUp() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// errLost is the error of a command if the server ended before it replied.
var errLost = errors.New("the server is gone")

// refused is an error reply of the server, with its code.
type refused struct {
	code    int32
	name    string
	message string
	labels  []string
}

func (r *refused) Error() string { return fmt.Sprintf("%s (%d): %s", r.name, r.code, r.message) }

// run sends a command to a database and returns the reply. Errors: refused, for the command, its first write or
// its write concern; errLost; errors of the connection.
func (m *client) run(db string, cmd bson.D) (bson.Raw, error) {
	if m.conn == nil {
		ours, err := m.pipes.dial()
		if err != nil {
			return nil, err
		}
		m.conn = &harness.Conn{Conn: ours}
	}
	request, err := bson.Marshal(cmd)
	if err != nil {
		return nil, err
	}
	reply, err := m.conn.Command(db, request)
	if m.dead.Load() {
		m.hangUp()
		return nil, errLost
	}
	if err != nil {
		m.hangUp()
		return nil, fmt.Errorf("%s: %w", cmd[0].Key, err)
	}
	return reply, judge(reply)
}

// judge returns the error in a reply, nil if the command succeeded.
func judge(reply bson.Raw) error {
	var r struct {
		OK          float64
		Code        int32
		CodeName    string `bson:"codeName"`
		Errmsg      string
		ErrorLabels []string `bson:"errorLabels"`
		WriteErrors []struct {
			Code   int32
			Errmsg string
		} `bson:"writeErrors"`
		Concern *struct {
			Code     int32
			CodeName string `bson:"codeName"`
			Errmsg   string
		} `bson:"writeConcernError"`
	}
	if err := bson.Unmarshal(reply, &r); err != nil {
		return err
	}
	switch {
	case r.OK != 1:
		return &refused{r.Code, r.CodeName, r.Errmsg, r.ErrorLabels}
	case len(r.WriteErrors) > 0:
		return &refused{r.WriteErrors[0].Code, "a write", r.WriteErrors[0].Errmsg, r.ErrorLabels}
	case r.Concern != nil:
		return &refused{r.Concern.Code, r.Concern.CodeName, r.Concern.Errmsg, r.ErrorLabels}
	}
	return nil
}

// all reads every document of a cursor.
func (m *client) all(db string, cmd bson.D) (docs []bson.Raw, err error) {
	for {
		reply, err := m.run(db, cmd)
		if err != nil {
			return nil, err
		}
		cursor := reply.Lookup("cursor").Document()
		for _, name := range []string{"firstBatch", "nextBatch"} {
			if list, ok := cursor.Lookup(name).ArrayOK(); ok {
				values, _ := list.Values()
				for _, v := range values {
					docs = append(docs, v.Document())
				}
			}
		}
		id := cursor.Lookup("id").Int64()
		if id == 0 {
			return docs, nil
		}
		_, name, _ := bytes.Cut([]byte(cursor.Lookup("ns").StringValue()), []byte("."))
		cmd = bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: string(name)}}
	}
}

// text collects the log of a server.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(b)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// pipes implements net.Listener by connections inside the process, without a network.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once

	mu   sync.Mutex
	open []net.Conn
}

func newPipes() *pipes { return &pipes{waiting: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

// cut closes all connections, as the end of a process does.
func (p *pipes) cut() {
	p.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "disk", Net: "pipe"} }

func (p *pipes) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.waiting <- theirs:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open = append(p.open, ours)
		return ours, nil
	case <-p.closed:
		return nil, errLost
	}
}

// folder returns the path of a new folder on the real disk for one server.
func folder(tb testing.TB) string { return filepath.Join(tb.TempDir(), "data") }
