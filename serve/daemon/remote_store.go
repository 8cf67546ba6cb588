package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/storage"
)

// errStopping is the state of a server that shuts down: clients should change to another server.
var errStopping = errors.New("stopping")

// ready returns why clients should not send commands to this server (it stops, or cannot reach its store), nil if
// they can.
func (d *Daemon) ready() error {
	if d.stopping.Load() {
		return errStopping
	}
	if r, ok := d.store.(storage.Reachable); ok {
		return r.CheckReachable()
	}
	return nil
}

// collectors returns the metrics of the server and of its engine.
func (d *Daemon) collectors(own prometheus.Collector) []prometheus.Collector {
	list := []prometheus.Collector{own}
	if e, err := d.cfg.engine(); err == nil && e.collectors != nil {
		list = append(list, e.collectors()...)
	}
	return list
}

// watchStore checks each second whether a remote store is reachable, and reports each change to the log and to
// Config.Status.
func (d *Daemon) watchStore(ctx context.Context, store storage.Reachable) {
	tell := d.cfg.Status
	if tell == nil {
		tell = func(string) {}
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for was := error(nil); ; {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		now := store.CheckReachable()
		switch {
		case now != nil && was == nil:
			d.log.Error().Err(now).Msg("storage is unreachable: commands fail or wait until it is reachable again")
			tell("waiting: " + now.Error())
		case now == nil && was != nil:
			d.log.Info().Msg("storage is reachable again")
			tell("ready")
		}
		was = now
	}
}
