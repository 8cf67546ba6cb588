package within

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// Several are servers of this process over one simulated cluster, in place of as many processes over a real
// one.
type Several struct {
	cluster *tikvfake.Cluster
	servers []*daemon.Daemon
	stops   []func() error
}

// Start starts n servers with the arguments of cantle serve. All but the first listen on a free port and have no
// other listeners. If shutdown is not nil, a client's shutdown command to the first server calls it; one to another
// server stops that server. out receives their logs.
func Start(ctx context.Context, n int, args []string, shutdown func(), out io.Writer) (*Several, error) {
	c, err := tikvfake.New()
	if err != nil {
		return nil, err
	}
	s := &Several{cluster: c}
	for i := range n {
		d, err := s.start(ctx, i, args, shutdown, out)
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		s.servers = append(s.servers, d)
	}
	return s, nil
}

// start starts the i-th server.
func (s *Several) start(ctx context.Context, i int, args []string, shutdown func(), out io.Writer) (*daemon.Daemon, error) {
	if i > 0 {
		args = append(deaf(args), "--listen", "127.0.0.1:0")
	}
	started := make(chan *daemon.Daemon, 1)
	stop := sync.OnceValue(func() error { return (<-started).Stop() })
	if i > 0 && shutdown != nil {
		shutdown = func() { go stop() } // Stop returns its error at the end
	}
	cfg := daemon.Config{Shutdown: shutdown, Wrap: func(of storage.Store) storage.Store {
		on, err := s.member(i)
		if err = errors.Join(err, of.Close()); err != nil {
			panic("BUG: one of several over a simulated cluster: " + err.Error())
		}
		return on
	}}
	set := flags.New("cantle serve")
	cfg.Flags(set)
	if err := flags.Parse(set, args); err != nil {
		return nil, err
	}
	d, err := daemon.Start(ctx, cfg, out)
	if err == nil {
		started <- d
		s.stops = append(s.stops, stop)
	}
	return d, err
}

// member opens the store of the i-th server.
func (s *Several) member(i int) (storage.Store, error) {
	kv, err := s.cluster.Client()
	if err != nil {
		return nil, err
	}
	return tikvkv.OpenOn(context.Background(), kv, tikvkv.Options{Keyspace: "within", Several: true, ServerName: fmt.Sprintf("server %d", i)})
}

// deaf returns arguments without those that name an address to listen on.
func deaf(args []string) (out []string) {
	for i := 0; i < len(args); i++ {
		name, _, value := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") || name != "listen" && !strings.HasSuffix(name, "-listen") {
			out = append(out, args[i])
		} else if !value {
			i++
		}
	}
	return out
}

// Servers returns all of them, in the order of their start.
func (s *Several) Servers() []*daemon.Daemon { return s.servers }

// Stop ends them one after the other, and the cluster.
func (s *Several) Stop() (err error) {
	for _, stop := range s.stops {
		err = errors.Join(err, stop())
	}
	return errors.Join(err, s.cluster.Close())
}
