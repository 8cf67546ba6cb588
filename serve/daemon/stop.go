package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/server"
	"github.com/cantledb/cantle/wire/session"
)

// How a server gives its clients to others over the same store, in parts of the time it has to stop
// (--drain): at most the first half goes by until nothing is bound to it any more, and the
// last tenth is for commands that run when the others have had time to take over.
const (
	leaveShare   = 2
	goodbyeShare = 10
)

// quietFor is how long no command must have come for a server of several to end. Drivers that watch
// it have heard by then, also where their process stood still for a moment, which is the way of all
// but those of one thread, and those that were set to poll.
const quietFor = time.Second

// handOver has clients go to the other servers over the store, if there are any, while what
// they ask is still done.
func (d *Daemon) handOver(ctx context.Context) {
	shared := storage.AsShared(d.store)
	if shared == nil {
		return
	}
	leave, cancel := context.WithTimeout(ctx, d.cfg.Drain/leaveShare)
	defer cancel()
	_, list, err := shared.Members(leave)
	if err != nil || len(list) < 2 {
		return
	}
	d.log.Info().Int("others", len(list)-1).Msg("clients are sent on to the other servers")
	command.Leave(leave, d.commands)
	if n := d.sessions.Stats().Open; n > 0 {
		d.log.Warn().Int("transactions", n).Msg("transactions are still open; they end with this server")
	}
	end, _ := ctx.Deadline()
	quiesce, cancel := context.WithDeadline(ctx, end.Add(-d.cfg.Drain/goodbyeShare))
	defer cancel()
	server.Quiesce(quiesce, d.server, quietFor)
}

// Stop drains: it has clients go elsewhere if there are other servers, stops listening, lets
// running commands finish for at most the configured time, closes cursors, stops background
// work and flushes the store.
func (d *Daemon) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Drain)
	defer cancel()
	begun := time.Now()
	d.log.Info().Str("drain", d.cfg.Drain.String()).Msg("stopping: running commands may end")
	d.stopping.Store(true)
	d.runner.Stopping()
	d.handOver(ctx)
	err := d.server.Shutdown(ctx)
	if d.console != nil {
		err = errors.Join(err, d.console.Stop(ctx))
	}
	if d.metrics != nil {
		err = errors.Join(err, d.metrics.stop(ctx))
	}
	d.stop()
	d.runner.Stop()
	d.loops.Wait()
	d.cursors.Close()
	d.cluster.Close()
	d.sessions.Kill(func(session.ID) bool { return true })
	err = errors.Join(err, d.store.Close())
	d.log.Info().Str("took", time.Since(begun).Round(time.Millisecond).String()).Msg("stopped")
	return err
}
