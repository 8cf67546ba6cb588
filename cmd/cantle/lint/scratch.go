package lint

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/wire"
)

// scratch is the server inside the linter, in memory, with a connection to its Cosmos address, which is lenient: it
// counts features that the account lacks.
type scratch struct {
	daemon   *daemon.Daemon
	conn     net.Conn
	reader   *wire.Reader
	counts   map[feature]int64
	commands map[string]bool // names of all commands of the server
}

// openScratch starts a server with an account like a.
func openScratch(ctx context.Context, a *cosmos.Account) (*scratch, error) {
	var cfg daemon.Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse([]string{"--memory", "--listen", "", "--cosmos-listen", "127.0.0.1:0", "--javascript", "--server-side-retry", "--cosmos-lenient",
		"--cosmos-version", a.Version.String(), "--cosmos-capabilities", a.Capabilities.String(), "--drain", "1s"}); err != nil {
		return nil, err
	}
	s := &scratch{counts: map[feature]int64{}, commands: map[string]bool{}}
	var err error
	if s.daemon, err = daemon.Start(ctx, cfg, io.Discard); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *scratch) connect(ctx context.Context) error {
	at, err := url.Parse(s.daemon.CosmosURI())
	if err != nil {
		return err
	}
	var d net.Dialer
	if s.conn, err = d.DialContext(ctx, "tcp", at.Host); err != nil {
		return err
	}
	s.reader = wire.NewReader(s.conn, &wire.Pool{})
	reply, err := s.run(ctx, "admin", bson.D{{"listCommands", 1}}.Doc())
	if err != nil {
		return err
	}
	list, _ := reply.Get("commands").Doc()
	for name := range list.Fields() {
		s.commands[string(name)] = true
	}
	s.used() // listCommands itself
	return nil
}

func (s *scratch) close() {
	if s.conn != nil {
		s.conn.Close()
	}
	_ = s.daemon.Stop()
}

// run runs a command on the linter's server and returns the reply, even that of a command that failed; failure
// extracts the error.
// Errors: errors of the connection.
func (s *scratch) run(ctx context.Context, db string, command bson.Raw) (bson.Raw, error) {
	command = append(command.D(), bson.E{"$db", db}).Doc()
	defer context.AfterFunc(ctx, func() { s.conn.Close() })()
	if _, err := s.conn.Write(wire.AppendMsg(nil, 1, 0, command)); err != nil {
		return nil, err
	}
	var m wire.Message
	if err := s.reader.Read(&m); err != nil {
		return nil, err
	}
	return m.Body.Clone(), nil
}

// clear drops the database in which a command may have made collections, unless the database is internal or the
// command is one of four that only read.
// Errors: errors of the connection.
func (s *scratch) clear(ctx context.Context, db, command string) error {
	if collection.IsInternal(db) || slices.Contains([]string{"count", "distinct", "explain", "find"}, command) {
		return nil
	}
	_, err := s.run(ctx, db, bson.D{{"dropDatabase", 1}}.Doc())
	return err
}

// failure returns the first error of a reply, nil without one.
func failure(reply bson.Raw) error {
	if !reply.Get("ok").Truthy() {
		text, _ := reply.Get("errmsg").Str()
		return errors.New(text)
	}
	list, _ := reply.Get("writeErrors").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		text, _ := d.Get("errmsg").Str()
		return errors.New(text)
	}
	return nil
}

// used returns the features that commands have used on the linter's server since the last call, and that the account
// does not have.
func (s *scratch) used() (list []feature) {
	for _, u := range s.daemon.Account().Uses() {
		x := feature{u.Kind, u.Name}
		if u.Count > s.counts[x] {
			list = append(list, x)
		}
		s.counts[x] = u.Count
	}
	return list
}
