package tikvkv

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
)

// TiKV keeps every version of every key until a client declares a safe point, a timestamp before which no state is
// read any more. On a cluster without an SQL layer no other program does that, so it is done here: by the server that
// holds the lease, or if several servers share the store by the owner of that job; see collectShared.

const (
	// collectEvery is the interval between two moves of the safe point.
	collectEvery = time.Minute
	// gcService, with the keyspace, identifies this store among the services that hold PD's safe point back:
	// each keyspace has its own readers. PD drops the entry gcServiceFor seconds after its last update.
	gcService    = "cantle/"
	gcServiceFor = 3600
	// gcWorker is the name of the service that PD itself requires: until that service reports a safe point, too, PD's
	// safe point never moves.
	gcWorker = "gc_worker"
)

// collectLoop calls collectExclusive every minute until the store is closed.
func (p *safePoints) collectLoop() {
	every := time.NewTicker(collectEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-p.life.stop:
			return
		}
		p.collectWhileOpen()
	}
}

// collectWhileOpen runs collectExclusive once, and cancels it when the store is closed. On a large or slow cluster a
// run takes minutes, and the shutdown of a server must not wait for that.
func (p *safePoints) collectWhileOpen() {
	ctx, end := p.life.untilClosed()
	defer end()
	if err := p.collectExclusive(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		p.o.Log(true, "the garbage of the cluster is not collected: "+err.Error())
	}
}

// collectExclusive moves the safe point of an exclusive server once, or with KeepGarbage adopts that of PD, and
// destroys the dropped ranges that no reader can reach any more.
func (p *safePoints) collectExclusive(ctx context.Context) error {
	move := p.advance
	if p.o.KeepGarbage {
		move = p.followSafePoint
	}
	if err := move(ctx); err != nil {
		return err
	}
	return p.dropped.destroyBefore(ctx, p.snapshots.safePoint.Load())
}

// followSafePoint reads the safe point stored in PD, and refuses reads before it from then on, unless a reader needs
// an older state (advanceSafePoint).
func (p *safePoints) followSafePoint(ctx context.Context) error {
	point, err := p.externalSafePoint(ctx)
	if err == nil {
		p.snapshots.advanceSafePoint(point)
	}
	return err
}

// externalSafePoint returns the safe point stored in PD.
func (p *safePoints) externalSafePoint(ctx context.Context) (uint64, error) {
	e := p.cluster.beginRequest(ctx, p.limits.read)
	defer e.end()
	point, err := p.cluster.kv.GetPDClient().UpdateGCSafePoint(e, 0)
	return point, e.fail(err)
}

// advance moves the safe point once: to that of safePointAt, but not past what other services in PD, such as backups,
// hold back. If it moved, advance resolves all locks before it, of any client, and has older versions removed.
func (p *safePoints) advance(ctx context.Context) error {
	now, err := p.oracle.fetchTS(ctx)
	if err != nil {
		return err
	}
	point, err := p.serviceSafePoint(ctx, p.safePointAt(now, p.snapshots.oldestReader(now)))
	if err != nil || !p.snapshots.advanceSafePoint(point) {
		return err
	}
	return p.removeBefore(ctx, point)
}

// serviceSafePoint registers point in PD as the safe point that this keyspace allows, and returns the oldest one that
// all services of the cluster allow: this keyspace, other keyspaces, backups.
func (p *safePoints) serviceSafePoint(ctx context.Context, point uint64) (uint64, error) {
	e := p.cluster.beginRequest(ctx, p.limits.read)
	defer e.end()
	pd := p.cluster.kv.GetPDClient()
	if _, err := pd.UpdateServiceGCSafePoint(e, gcService+p.o.Keyspace, gcServiceFor, point); err != nil {
		return 0, e.fail(err)
	}
	kept, err := pd.UpdateServiceGCSafePoint(e, gcWorker, math.MaxInt64, point)
	if err != nil {
		return 0, e.fail(err)
	}
	return min(point, kept), nil
}

// removeBefore lets the cluster remove the versions that no read at or after the safe point needs.
func (p *safePoints) removeBefore(ctx context.Context, point uint64) error {
	e := p.cluster.beginRequest(ctx, collectEvery)
	defer e.end()
	if err := p.cluster.kv.GetSafePointKV().Put(tikv.GcSavedSafePoint, strconv.FormatUint(point, 10)); err != nil {
		return err
	}
	_, err := p.cluster.kv.GC(e, point)
	return e.fail(err)
}

// safePointAt returns the safe point for the time now: now minus the retention, or the timestamp of the oldest reader
// if that is earlier. A reader holds the safe point back for at most p.limits.reader.
func (p *safePoints) safePointAt(now, oldest uint64) uint64 {
	point := subMillis(now, p.o.Retention.Milliseconds())
	if oldest < point {
		point = max(oldest, subMillis(now, p.limits.reader.Milliseconds()))
	}
	return point
}
