package quota

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Topic is touched when a row is added or removed.
const Topic = "quota"

const (
	// middle is the increment of a storage.Timestamp in the middle of a second, at which all servers read.
	middle = 1 << 31
	// stepTimeout is the timeout of one step; after it the next second is more important.
	stepTimeout = time.Second
	// sweepEvery is the interval at which a server looks for the rows of dead servers.
	sweepEvery = 10 * time.Second
)

// Config holds the parameters of a Divider.
type Config struct {
	Store        storage.Shared
	Budgets      *ratelimit.Budgets
	Now          func() time.Time // the clock of the budgets
	MachineClock func() time.Time // the machine's clock, by which the store's time is extrapolated
	// Follow registers load, to be called when peers touch a topic.
	Follow func(topic string, load func(ctx context.Context, r storage.Reader) error)
	// OwnsSweep reports whether this server removes the rows of dead servers.
	OwnsSweep func(ctx context.Context) bool
	// Failed receives errors after which the operation is retried.
	Failed func(error)
}

// Divider takes part in the division of the budgets for one server.
type Divider struct {
	Config
	wake chan struct{}

	mu         sync.Mutex
	shares     shares
	hasPeers   bool      // there are peers
	joining    bool      // this server has had no share yet
	rowMissing bool      // the row of this server is missing
	read       time.Time // when the store's time was read, by the machine's clock
	told       time.Time // the store's time at that moment
}

// Join writes the row of this server and counts its peers. It must return before the server admits commands;
// Run takes part from then on.
// Errors: those of the store.
func Join(ctx context.Context, c Config) (*Divider, error) {
	x := &Divider{Config: c, wake: make(chan struct{}, 1)}
	x.shares = shares{budgets: c.Budgets, self: c.Store.Member()}
	if err := x.change(ctx, func(t storage.Txn) error {
		if err := x.sweep(ctx, t); err != nil {
			return err
		}
		return t.Set(rowKey(x.shares.self), row{}.encode())
	}); err != nil {
		return nil, err
	}
	r, err := c.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows, err := readRows(ctx, r)
	if err != nil {
		return nil, err
	}
	x.joining = len(rows) > 1
	x.hasPeers = x.joining
	c.Budgets.SetServers(c.Now(), len(rows), x.joining)
	c.Follow(Topic, x.load)
	return x, nil
}

func rowKey(id storage.MemberID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaQuota, id[:])
}

// readRows reads the rows of all servers.
func readRows(ctx context.Context, r storage.Reader) (map[storage.MemberID]row, error) {
	rows := map[storage.MemberID]row{}
	err := storage.Each(ctx, r, keyspace.MetaRange(keyspace.MetaQuota), func(key, value []byte) (err error) {
		_, name, _ := keyspace.SplitMeta(key)
		var id storage.MemberID
		if len(name) != len(id) {
			return fmt.Errorf("the name of what a server needs of the budgets: %w", storage.ErrCorruption)
		}
		copy(id[:], name)
		rows[id], err = decodeRow(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// change adds or removes rows, and notifies all servers.
func (x *Divider) change(ctx context.Context, fn func(t storage.Txn) error) error {
	return storage.Update(ctx, x.Store, storage.TxnOptions{Essential: true}, storage.Buffered, func(t storage.Txn) error {
		if err := fn(t); err != nil {
			return err
		}
		return keyspace.TouchTopic(ctx, x.Store, t, Topic)
	})
}

// sweep removes the rows of dead servers: of those that are not members after the rows were read.
func (x *Divider) sweep(ctx context.Context, t storage.Txn) error {
	rows, err := readRows(ctx, t)
	if err != nil || len(rows) == 0 {
		return err
	}
	_, list, err := x.Store.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range list {
		delete(rows, m.ID)
	}
	for id := range rows {
		if err := t.Delete(rowKey(id)); err != nil {
			return err
		}
	}
	return nil
}

// load is called after servers have joined or left. It divides the budgets among the new number of servers.
func (x *Divider) load(ctx context.Context, r storage.Reader) error {
	rows, err := readRows(ctx, r)
	if err != nil || x.Budgets.Clock.Stopped() {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	_, here := rows[x.shares.self]
	x.rowMissing = !here
	if !here {
		rows[x.shares.self] = row{}
	}
	x.hasPeers = len(rows) > 1
	x.joining = x.joining && x.hasPeers
	x.Budgets.SetServers(x.Now(), len(rows), x.joining)
	select {
	case x.wake <- struct{}{}:
	default:
	}
	return nil
}

// Run takes part in the division until ctx ends, and then removes the row of this server.
func (x *Divider) Run(ctx context.Context) {
	defer x.removeRow(context.WithoutCancel(ctx))
	swept := x.MachineClock()
	for ctx.Err() == nil {
		if !x.mustDivide() {
			x.sleep(ctx, time.Second)
			if !x.mustDivide() {
				continue
			}
		}
		x.report(ctx, x.beginSecond(ctx))
		if at := x.time(); at.Nanosecond() < middleNanos {
			x.sleep(ctx, time.Duration(middleNanos-at.Nanosecond()))
		}
		x.report(ctx, x.readMissed(ctx))
		if x.MachineClock().Sub(swept) > sweepEvery {
			swept = x.MachineClock()
			x.report(ctx, x.sweepDead(ctx))
		}
		at := x.time()
		x.sleep(ctx, at.Truncate(time.Second).Add(time.Second).Sub(at))
	}
}

// middleNanos is a time within a second at which its middle is certainly over, in ns.
const middleNanos = int(520 * time.Millisecond)

// report passes on an error, unless the server is stopping.
func (x *Divider) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		x.Failed(fmt.Errorf("the budgets could not be divided among the servers: %w", err))
	}
}

// mustDivide reports whether there is something to divide: peers exist, and limited budgets.
func (x *Divider) mustDivide() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rowMissing {
		return true
	}
	if !x.hasPeers || x.Budgets.Clock.Stopped() {
		return false
	}
	limited := x.Budgets.Limited()
	if !limited && x.joining { // a budget that is created from now on was never divided among the others
		x.joining = false
		x.Budgets.SetServers(x.Now(), x.Budgets.Servers(), false)
	}
	return limited
}

// sleep waits for d. A wait of a second or more ends early when servers join or leave.
func (x *Divider) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	var wake <-chan struct{}
	if d >= time.Second {
		wake = x.wake
	}
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-wake:
	}
}

// time returns the store's time, extrapolated with the machine's clock.
func (x *Divider) time() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.read.IsZero() {
		return x.MachineClock()
	}
	return x.told.Add(x.MachineClock().Sub(x.read))
}

// observe records a time that was read from the store.
func (x *Divider) observe(ts storage.Timestamp) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.read, x.told = x.MachineClock(), time.Unix(int64(ts.Seconds()), int64(ts.Increment()>>22)*int64(time.Millisecond))
}

// beginSecond adds the share of the second that has begun, and writes the demand of the last second.
func (x *Divider) beginSecond(ctx context.Context) error {
	second := x.time().Unix()
	x.mu.Lock()
	x.shares.grant(x.Now(), second)
	r, write := x.shares.row(x.Now(), second)
	missing := x.rowMissing
	x.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if missing {
		err := x.change(ctx, func(t storage.Txn) error { return t.Set(rowKey(x.shares.self), r.encode()) })
		if err == nil {
			x.mu.Lock()
			x.rowMissing = false
			x.mu.Unlock()
		}
		return err
	}
	if !write {
		return nil
	}
	t, err := x.Store.Begin(ctx, storage.TxnOptions{Essential: true})
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Set(rowKey(x.shares.self), r.encode()); err != nil {
		return err
	}
	_, err = t.Commit(ctx, storage.Buffered)
	return err
}

// readMissed reads the demands for the shares of the next second, and for seconds that were missed; the
// shares of missed seconds are added at once.
func (x *Divider) readMissed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	now, err := x.Store.Now(ctx)
	if err != nil {
		return err
	}
	x.observe(now)
	next := int64(now.Seconds()) + 1
	if now.Increment() < middle {
		next--
	}
	x.mu.Lock()
	missed := x.shares.missed(next)
	x.mu.Unlock()
	for _, second := range missed {
		rows, err := x.state(ctx, second-1)
		if err != nil {
			return err
		}
		x.mu.Lock()
		x.shares.setDemands(second, rows)
		_, here := rows[x.shares.self]
		x.joining = x.joining && !here
		x.mu.Unlock()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.Budgets.Clock.Stopped() {
		x.shares.grant(x.Now(), x.told.Unix())
	}
	return nil
}

// state reads the rows as of the middle of a second.
func (x *Divider) state(ctx context.Context, second int64) (map[storage.MemberID]row, error) {
	r, err := x.Store.Snapshot(ctx, storage.MakeTimestamp(uint32(second), middle))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readRows(ctx, r)
}

// sweepDead removes the rows of dead servers, if OwnsSweep allows that.
func (x *Divider) sweepDead(ctx context.Context) error {
	if !x.OwnsSweep(ctx) {
		return nil
	}
	r, err := x.Store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	rows, err := readRows(ctx, r)
	r.Close()
	if err != nil {
		return err
	}
	_, list, err := x.Store.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range list {
		delete(rows, m.ID)
	}
	if len(rows) == 0 {
		return nil
	}
	return x.change(ctx, func(t storage.Txn) error { return x.sweep(ctx, t) })
}

// removeRow removes the row of this server, so that the others get its part of the reserve.
func (x *Divider) removeRow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	_ = x.change(ctx, func(t storage.Txn) error { return t.Delete(rowKey(x.shares.self)) })
}
