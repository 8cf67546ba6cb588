// Package cantle runs a server inside a Go program: MongoDB's wire protocol over partitions
// with request units, in memory or in a folder.
//
//	srv, err := cantle.Open(cantle.Options{Data: "./db"})
//	…
//	defer srv.Close()
//	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetDialer(srv))
//
// For tests, package cantletest does the same in one line.
//
// Several servers in one program are independent of each other. They share the program's processors and memory, but
// each assumes that it has the machine's memory for itself (see the flag work-memory).
//
// # Compatibility
//
// The exported API of this package and of cantletest stays compatible through all releases with the same major
// version, and flags keep their names and meaning; before 1.0 a change is announced in the change log, with its
// replacement, one release ahead. The other packages of this module are parts of the server: they may change at any
// time.
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

// Options configure a server. The zero Options make a server in memory that only the program itself can reach, by
// Server.DialContext.
type Options struct {
	// Data is the folder of the database, which Open makes if it is missing; "" keeps everything in memory. If the log
	// of writes in the folder can no longer be written, the whole process ends with status 3, because only then
	// acknowledged writes are safe.
	Data string

	// Listen holds addresses for clients, separated by commas: host:port, where port 0 picks a
	// free port, or unix:/path. "" opens none.
	Listen string

	// ReplicaSet is the name of a replica set whose only member is the server, as "name" or
	// "name/host:port". With "" the server looks like a mongos.
	ReplicaSet string

	// VirtualClock lets the program stop and advance the server's clock, by which budgets, expiry and $$NOW work; see
	// Server.Clock. It also allows commands for tests, such as configureFailPoint.
	VirtualClock bool

	// Log receives the lines of the server's log; nil drops them.
	Log io.Writer

	// Flags are further settings, each a flag of `cantle serve` such as "--default-throughput=400" (docs/reference.md
	// lists them). Environment variables are not read.
	Flags []string
}

// notHere are flags that have no meaning inside a program.
var notHere = []string{"check-config", "config", "until-stdin-ends"}

// Server is a running server. Its methods are safe for concurrent use. It can be passed to SetDialer of the driver's
// options.Client(), because it has the method DialContext.
type Server struct {
	daemon *daemon.Daemon
	pipes  *pipes
	uri    string
	close  func() error
}

// Open starts a server, and returns when the server accepts clients.
// Errors: invalid options, folder or address; a folder that another process has open; damaged data.
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

// URI returns the connection string of the server's first address. If Listen is "", only clients with this server as
// their dialer can use the string.
func (s *Server) URI() string { return s.uri }

// CosmosURI returns the connection string of the server's address that looks like Azure Cosmos DB, "" without the
// flag --cosmos-listen.
func (s *Server) CosmosURI() string { return s.daemon.CosmosURI() }

// DialContext connects a client to the server inside the process, without a socket. It ignores the network and the
// address.
// Errors: the error of ctx; net.ErrClosed after Close.
func (s *Server) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return s.pipes.dial(ctx)
}

// Clock returns the clock of a server with Options.VirtualClock, else nil.
func (s *Server) Clock() *Clock {
	if c := s.daemon.Clock(); c != nil {
		return &Clock{c}
	}
	return nil
}

// Failed returns a channel that receives an error for each address on which the server can no longer listen.
func (s *Server) Failed() <-chan error { return s.daemon.Failed() }

// Close ends the server: running commands may finish within the time of the flag --drain, and are then cut off.
// Further calls return the result of the first.
func (s *Server) Close() error {
	err := s.close()
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cantle: commands that went on were cut off: %w", err)
	}
	return err
}
