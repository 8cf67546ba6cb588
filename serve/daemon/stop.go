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

// leaveFraction and goodbyeFraction divide the time of a drain (--drain) if there are peers. For at most the first
// half (1/leaveFraction) the server waits for the work that no peer can take over (command.Leave). The last tenth
// (1/goodbyeFraction) is left for commands that still run when clients have had the time to change servers.
const (
	leaveFraction   = 2
	goodbyeFraction = 10
)

// quietPeriod is the time without commands after which a draining server with peers may end. By then drivers that
// monitor the topology by streaming have seen the shutdown, even if their process paused briefly. Single-threaded
// drivers and drivers set to polling may not have seen it.
const quietPeriod = time.Second

// drainToPeers makes clients change to the peers of this server before it stops, and runs their commands until they
// have changed. Without peers, or if the store does not answer, it does nothing.
func (d *Daemon) drainToPeers(ctx context.Context) {
	leave, cancel := context.WithTimeout(ctx, d.cfg.Drain/leaveFraction)
	defer cancel()
	_, list, err := storage.MembershipOf(d.store).Members(leave)
	if err != nil || len(list) < 2 {
		return
	}
	d.log.Info().Int("others", len(list)-1).Msg("clients are redirected to the peers")
	command.Leave(leave, d.commands)
	if n := d.sessions.Stats().Open; n > 0 {
		d.log.Warn().Int("transactions", n).Msg("open transactions are aborted, as this server stops")
	}
	end, _ := ctx.Deadline()
	quiesce, cancel := context.WithDeadline(ctx, end.Add(-d.cfg.Drain/goodbyeFraction))
	defer cancel()
	server.Quiesce(quiesce, d.server, quietPeriod)
}

// Stop drains and ends the server: it makes clients change to peers if there are any, stops listening, lets running
// commands finish for at most the time of --drain, stops background work, ends cursors and sessions and closes the
// store.
func (d *Daemon) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Drain)
	defer cancel()
	begun := time.Now()
	d.log.Info().Str("drain", d.cfg.Drain.String()).Msg("stopping: running commands may finish")
	d.stopping.Store(true)
	d.runner.Stopping()
	d.drainToPeers(ctx)
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
