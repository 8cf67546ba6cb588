// Package cantle holds a server inside a Go program: MongoDB's wire protocol over
// partitions with request units, in memory or in a folder.
//
//	srv, err := cantle.Open(cantle.Options{Data: "./db"})
//	…
//	defer srv.Close()
//	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetDialer(srv))
//
// Tests have it shorter with package cantletest.
//
// Several servers in one program do not know of each other. They share its processors and
// memory, of which each takes itself to have the machine's (see the flag work-memory).
//
// # Compatibility
//
// What this package and cantletest export stays as it is through all releases with the
// same major version, and flags keep their names and meaning; before 1.0 a change is told
// in the change log, with what to write instead, one release ahead. The other packages of
// this module are parts of the server: they may change at any time.
package cantle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

// Options say what server to open. The zero Options are one in memory that only the
// program itself reaches, by DialContext.
type Options struct {
	// Data is the folder of the database, made when it is missing; "" keeps everything in
	// memory. When its disk cannot be written any more the process ends with status 3, as
	// what was acknowledged is safe only then.
	Data string

	// Listen has addresses for clients, separated by commas: host:port, where port 0 picks a
	// free one, or unix:/path. "" opens none.
	Listen string

	// ReplicaSet is the name of a replica set whose only member the server is, as
	// "name" or "name/host:port". "" lets it look like a mongos.
	ReplicaSet string

	// VirtualClock lets the program stop and advance the clock that budgets, expiry and $$NOW
	// go by; see Server.Clock. Commands for tests, such as configureFailPoint, are allowed then.
	VirtualClock bool

	// Log receives what the server has to say, in lines; nil drops it.
	Log io.Writer

	// Flags are further settings, as `cantle serve --help` and docs/reference.md have them:
	// "--default-throughput=400". Variables of the environment are not looked at.
	Flags []string
}

// notHere are flags that have no meaning inside of a program.
var notHere = []string{"check-config", "config", "until-stdin-ends"}

// Server is a server that runs. Its methods may be called at any time by several
// goroutines. As it has DialContext, it is a dialer for options.Client().SetDialer.
type Server struct {
	daemon *daemon.Daemon
	pipes  *pipes
	uri    string
	close  func() error
}

// Open starts a server; it serves when Open returns.
// Errors: what is wrong with the options, the folder or an address.
func Open(o Options) (*Server, error) {
	s := &Server{pipes: newPipes()}
	cfg, err := o.config()
	if err != nil {
		return nil, fmt.Errorf("cantle: %w", err)
	}
	cfg.Listeners = []net.Listener{s.pipes}
	log := o.Log
	if log == nil {
		log = io.Discard
	}
	if s.daemon, err = daemon.Start(context.Background(), cfg, log); err != nil {
		return nil, fmt.Errorf("cantle: %w", err)
	}
	s.close = sync.OnceValue(s.daemon.Stop)
	if uris := s.daemon.URIs(); len(uris) > 0 {
		s.uri = uris[0]
	} else {
		s.uri = "mongodb://" + pipeAddress + "/"
		if name, _, _ := strings.Cut(cfg.ReplicaSet, "/"); name != "" {
			s.uri += "?replicaSet=" + name
		}
	}
	return s, nil
}

// config translates options into the settings of a server.
func (o *Options) config() (cfg daemon.Config, err error) {
	set := flags.New("cantle serve")
	cfg.Flags(set)
	args := []string{"--listen", o.Listen, "--replica-set", o.ReplicaSet}
	if o.Data == "" {
		args = append(args, "--memory")
	} else {
		args = append(args, "--data", o.Data)
	}
	if o.VirtualClock {
		args = append(args, "--enable-test-commands")
	}
	args = append(args, o.Flags...)
	if err := flags.Parse(set, args); err != nil {
		return cfg, err
	}
	if set.NArg() > 0 {
		return cfg, fmt.Errorf("%q in Flags is no flag", set.Arg(0))
	}
	if useless := cfg.NeedsNoFolder(); useless != "" && set.Changed("data") {
		return cfg, fmt.Errorf("%s keeps nothing on disk, so a folder has no use; give one of them, the folder as Options.Data", useless)
	}
	if i := slices.IndexFunc(notHere, set.Changed); i >= 0 {
		return cfg, fmt.Errorf("--%s is for cantle serve, not for a server inside a program", notHere[i])
	}
	cfg.CommandLine = append([]string{"cantle", "serve"}, args...)
	return cfg, nil
}

// URI is the connection string: of the first address, or, without one, a string that only a
// client with this server as its dialer can use.
func (s *Server) URI() string { return s.uri }

// CosmosURI is the connection string of the address that looks like Azure Cosmos DB, "" without
// the flag --cosmos-listen.
func (s *Server) CosmosURI() string { return s.daemon.CosmosURI() }

// DialContext connects to the server inside the process, without a socket and whatever the
// network and the address are.
// Errors: that of ctx; net.ErrClosed after Close.
func (s *Server) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return s.pipes.dial(ctx)
}

// Clock is the clock of a server with Options.VirtualClock, else nil.
func (s *Server) Clock() *Clock {
	if c := s.daemon.Clock(); c != nil {
		return &Clock{c}
	}
	return nil
}

// Failed delivers the error of an address that cannot be listened on any more.
func (s *Server) Failed() <-chan error { return s.daemon.Failed() }

// Close ends the server: running commands may finish, for as long as the flag --drain says.
// Further calls return what the first did.
func (s *Server) Close() error {
	err := s.close()
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cantle: commands that went on were cut off: %w", err)
	}
	return err
}
