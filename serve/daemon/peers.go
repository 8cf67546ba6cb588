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

// peerLoop runs a loop that exchanges data with peers. A server that has the store exclusively admits no peers, and
// does not run the loop; neither does one that follows another server, which is not its peer.
func (d *Daemon) peerLoop(ctx context.Context, run func(context.Context)) {
	if !storage.Exclusive(d.store) && d.cfg.Follow == "" {
		d.loop(ctx, run)
	}
}

// followCatalog applies the catalog changes of peers: it ends cursors on dropped and renamed collections, drops the
// budgets and counts of dropped ones, and sets the budgets of the catalog again. It also makes each change of users
// wait until every server has applied the change.
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

// shareBudgets divides the budgets (RU/s) between this server and its peers; a server that follows another one admits
// whole budgets by itself. It must run before the budgets of the catalog's collections are set.
func (d *Daemon) shareBudgets(ctx context.Context, cat *catalog.Catalog, budgets *ratelimit.Budgets, now func() time.Time) error {
	if d.cfg.Follow != "" {
		return nil
	}
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

// newPeerCalls returns the part of this server that sends calls to all peers, and answers their calls.
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

// poison ends the cursors on a collection that was dropped or renamed: their next batch fails with QueryPlanKilled
// (175).
func (d *Daemon) poison(ns collection.Namespace) {
	d.cursors.Poison(ns, mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped or renamed while the cursor was open", ns))
}

// jobOwnerName returns the name by which peers show this server as the owner of a background job.
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

// shareJobs makes this server stop owning background jobs when it loses its lease, and gives the runner the job by
// which one server at a time removes the unfinished collections of servers that have died.
func (d *Daemon) shareJobs(cat *catalog.Catalog, definer *ddl.Definer) {
	cat.OnLeaseLost(d.runner.Owners.LoseAll)
	d.runner.Orphans = definer.DropUnfinished
}

// dropUnfinished removes the unfinished temporary collections that a crashed process left. If the store admits peers,
// a background job of one server does it instead.
func (d *Daemon) dropUnfinished(ctx context.Context, definer *ddl.Definer) error {
	if !storage.Exclusive(d.store) {
		return nil
	}
	return definer.DropUnfinished(ctx, nil)
}
