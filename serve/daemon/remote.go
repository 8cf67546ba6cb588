package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/storage"
)

// errStopping says that the server is ending, and that who looks for one is to take another.
var errStopping = errors.New("stopping")

// ready says why the server is not one to send commands to, nil if it is.
func (d *Daemon) ready() error {
	if d.stopping.Load() {
		return errStopping
	}
	if r, ok := d.store.(storage.Reachable); ok {
		return r.Away()
	}
	return nil
}

// collectors are the metrics of the server, and those that its engine has beside.
func (d *Daemon) collectors(own prometheus.Collector) []prometheus.Collector {
	list := []prometheus.Collector{own}
	if e, err := d.cfg.engine(); err == nil && e.collectors != nil {
		list = append(list, e.collectors()...)
	}
	return list
}

// watchStore tells the log and the manager of services when data cannot be reached, those
// that are kept elsewhere or on a disk that does not answer, and when they can again.
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
		now := store.Away()
		switch {
		case now != nil && was == nil:
			d.log.Error().Err(now).Msg("the data cannot be reached: commands fail or wait until they can")
			tell("waiting: " + now.Error())
		case now == nil && was != nil:
			d.log.Info().Msg("the data can be reached again")
			tell("ready")
		}
		was = now
	}
}
