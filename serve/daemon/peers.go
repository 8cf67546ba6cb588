package daemon

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/peers"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command/shards"
	"github.com/cantledb/cantle/wire/session"
)

// peerLoop runs a loop that serves peers. A server that has the store exclusively spares its goroutine.
func (d *Daemon) peerLoop(ctx context.Context, run func(context.Context)) {
	if !storage.Exclusive(d.store) {
		d.loop(ctx, run)
	}
}

// followCatalog applies the catalog changes of peers. It also makes a change of users wait until all servers
// have applied it.
func (d *Daemon) followCatalog(ctx context.Context, cat *catalog.Catalog, definer *ddl.Definer, users *auth.Directory) {
	cat.OnPeerChange(func(before, now *catalog.Snapshot) {
		now.Changes(before, func(coll, same *catalog.Collection) {
			if coll == nil {
				return
			}
			if next := now.Collection(coll.Namespace); next == nil || next.UUID != coll.UUID { // a change of the shard key keeps the UUID
				d.poison(coll.Namespace)
			}
			if same == nil && !coll.IsView() {
				d.cluster.Budgets.Drop(uint64(coll.ID))
				d.cluster.DropCounts(coll.ID)
			}
		})
		go definer.RestoreBudgets()
	})
	users.WaitAppliedByAll = cat.WaitAppliedByAll
	cat.OnTopic(auth.Topic, users.Reload)
	d.peerLoop(ctx, cat.Follow)
}

// shareBudgets divides the budgets between this server and its peers. It must come before the
// budgets of the catalog are set.
func (d *Daemon) shareBudgets(ctx context.Context, cat *catalog.Catalog, budgets *ratelimit.Budgets, now func() time.Time) error {
	return d.retryStep(ctx, "the budgets", func() error {
		x, err := peers.NewDivider(ctx, peers.DividerConfig{
			Store: d.store, Budgets: budgets, Now: now, MachineClock: time.Now, Follow: cat.OnTopic,
			OwnsSweep: func(ctx context.Context) bool { return d.runner.OwnsLoop(ctx, "quota") },
			Failed: func(err error) {
				d.log.Warn().Err(err).Msg("budget shares could not be exchanged; this server admits less than its share until a retry succeeds")
			},
		})
		if err == nil {
			d.peerLoop(ctx, x.Run)
		}
		return err
	})
}

// newPeerCalls returns the part of this server that calls peers and answers their calls.
func (d *Daemon) newPeerCalls(ctx context.Context, cat *catalog.Catalog) *peers.Calls {
	calls := peers.NewCalls(peers.CallsConfig{
		Store: d.store, Follow: cat.OnTopic, Name: shards.Host,
		Failed: func(err error) {
			d.log.Warn().Err(err).Msg("the cluster-wide view is incomplete: a peer did not answer")
		},
	})
	d.peerLoop(ctx, calls.Run)
	return calls
}

// poison ends the cursors on a collection that was dropped or renamed.
func (d *Daemon) poison(ns collection.Namespace) {
	d.cursors.Poison(ns, mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped or renamed while the cursor was open", ns))
}

// jobOwnerName returns the name of this server that peers show for its background jobs.
func (d *Daemon) jobOwnerName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// newSessions makes the registry of sessions.
func (d *Daemon) newSessions() *session.Registry {
	return session.New(session.Config{
		Now:    d.cfg.clock(),
		Memory: d.shares.sessions, ResultBytes: d.shares.results,
		History:   session.NewStore(d.store),
		OnEnd:     func(id session.ID) { d.cursors.KillSession(id) },
		Shared:    !storage.Exclusive(d.store),
		OwnsSweep: func(ctx context.Context) bool { return d.runner.OwnsLoop(ctx, "sessions") },
	})
}

// shareJobs divides background jobs among the servers over the store: a lost lease ends this server's
// ownership of jobs, and one server at a time removes the unfinished collections of servers that have died.
func (d *Daemon) shareJobs(cat *catalog.Catalog, definer *ddl.Definer) {
	cat.OnLeaseLost(d.runner.Owners.LoseAll)
	d.runner.Orphans = definer.DropUnfinished
}

// dropUnfinished removes unfinished temporary collections that a crashed process left. With peers,
// the owner of that job does so continuously instead.
func (d *Daemon) dropUnfinished(ctx context.Context, definer *ddl.Definer) error {
	if !storage.Exclusive(d.store) {
		return nil
	}
	return definer.DropUnfinished(ctx, nil)
}
