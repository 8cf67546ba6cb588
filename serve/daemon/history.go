package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
)

// startHistory creates the history of the partitions, which the console shows: it reads the stored part, and counts
// commands from now on (see recordCommand).
func (d *Daemon) startHistory(ctx context.Context, s *command.Server) {
	var store storage.Store
	if d.cfg.isDurable() && !d.cfg.readOnly() {
		store = d.store
	}
	d.history = history.New(history.Config{
		Catalog: d.catalog.Load(), Budgets: d.cluster.Budgets, Store: store, Now: d.cluster.Now,
		Shapes:      s.Sharding.TakeShapes,
		Connections: func() int { return int(d.connections().Current) },
		Failed: func(err error) {
			if !errors.Is(err, storage.ErrFollower) { // else another server was promoted in place of this one, which the log has already
				d.log.Warn().Err(err).Msg("the console's history will have a gap")
			}
		},
	})
	if err := d.history.Load(ctx); err != nil {
		d.log.Warn().Err(err).Msg("the history of partitions cannot be read; a new one begins")
	}
	d.allHistory = history.NewAllServers(d.history, d.cluster.Peers)
	s.OnEnd(func(c *command.Call, e command.Outcome) { recordCommand(d.history, c, e) })
}

// forgetSeconds is the interval, in seconds, at which one of the servers removes the stored history of servers that
// stopped long ago.
const forgetSeconds = 600

// sampleHistory records the load of the partitions at the beginning of each second until ctx ends, and stores the
// records every five minutes and at the end. One server also removes the stored records of stopped ones.
func (d *Daemon) sampleHistory(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for second := 1; ; second++ {
		select {
		case <-ctx.Done():
			d.history.Save(context.WithoutCancel(ctx))
			return
		case <-timer.C:
		}
		d.history.Update()
		d.history.StoreFullColumns(ctx)
		if second%refusalSeconds == 0 {
			d.logRefusals()
		}
		if second%forgetSeconds == 0 && d.runner.OwnsLoop(ctx, "history") {
			if err := d.history.Forget(ctx); err != nil && ctx.Err() == nil {
				d.log.Warn().Err(err).Msg("data of stopped servers could not be removed; removal is retried in some minutes")
			}
		}
		timer.Reset(time.Second - time.Duration(time.Now().Nanosecond()))
	}
}

// recordCommand counts a command that read or wrote documents in the history: for each partition that the command
// visited, and for the whole server; a refused command, also one on the catalog, for the server only, and a command of an operator not at
// all. The time for which the command waited for new documents does not count as duration.
func recordCommand(h *history.Recorder, c *command.Call, e command.Outcome) {
	if c.Op.Unmetered || c.Op.Class.Operator {
		return
	}
	h.CountRefused(&e.RefusedBy)
	if !c.Def.Costly() {
		return
	}
	took := max(0, e.Took-c.Progress().Idle.Sum())
	outcome, at := history.DidRead, ratelimit.HasRead
	switch {
	case e.Refused():
		return
	case e.Err != nil:
		outcome, at = history.DidFail, ratelimit.HasFailed
	case c.Def.Kind == command.KindWrite:
		outcome, at = history.DidWrite, ratelimit.HasWritten
	}
	h.Ended(outcome, took)
	c.Cluster.Budgets.Ended(&c.Op.Receipt, at, took)
}
