package peers

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

// shareTopic is touched when the demand row of a server is added or removed.
const shareTopic = "quota"

const (
	// middle is the increment of a storage.Timestamp in the middle of a second (512 ms), at which all servers read
	// the demand rows.
	middle = 1 << 31
	// stepTimeout is the timeout of one step of a second, such as a read of the demand rows; after it, the steps of
	// the next second are more important.
	stepTimeout = time.Second
	// sweepEvery is the interval at which a server looks for the rows of dead servers.
	sweepEvery = 10 * time.Second
)

// DividerConfig holds the parameters of a Divider.
type DividerConfig struct {
	Store        storage.Store
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

// Divider divides the RU budgets among the servers, on the side of one server: each second it stores the demand of
// this server, reads the demands of all, and adds this server's shares to its budgets.
type Divider struct {
	DividerConfig
	members storage.Membership
	wake    chan struct{}

	mu         sync.Mutex
	shares     shares
	hasPeers   bool      // there are peers
	joining    bool      // this server has had no share yet
	rowMissing bool      // the row of this server is missing
	readAt     time.Time // when the store's time was read, by the machine's clock
	storeTime  time.Time // the store's time at that moment
}

// NewDivider stores an empty demand row of this server and counts its peers. It must return before the server admits
// commands; Run takes part in the division from then on. A server that has the store exclusively has all of each
// budget, without a row. Errors: errors of the store.
func NewDivider(ctx context.Context, c DividerConfig) (*Divider, error) {
	d := &Divider{DividerConfig: c, members: storage.MembershipOf(c.Store), wake: make(chan struct{}, 1)}
	if storage.Exclusive(c.Store) {
		return d, nil
	}
	d.shares = shares{budgets: c.Budgets, self: d.members.Member()}
	if err := d.change(ctx, func(t storage.Txn) error {
		if err := d.sweep(ctx, t); err != nil {
			return err
		}
		return t.Set(demandKey(d.shares.self), demandRow{}.encode())
	}); err != nil {
		return nil, err
	}
	r, err := c.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows, err := readDemandRows(ctx, r)
	if err != nil {
		return nil, err
	}
	d.joining = len(rows) > 1
	d.hasPeers = d.joining
	c.Budgets.SetServers(c.Now(), len(rows), d.joining)
	c.Follow(shareTopic, d.load)
	return d, nil
}

func demandKey(id storage.MemberID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaQuota, id[:])
}

// readDemandRows reads the rows of all servers.
func readDemandRows(ctx context.Context, r storage.Reader) (map[storage.MemberID]demandRow, error) {
	rows := map[storage.MemberID]demandRow{}
	err := storage.Each(ctx, r, keyspace.MetaRange(keyspace.MetaQuota), func(key, value []byte) (err error) {
		_, name, _ := keyspace.SplitMeta(key)
		var id storage.MemberID
		if len(name) != len(id) {
			return fmt.Errorf("the name of what a server needs of the budgets: %w", storage.ErrCorruption)
		}
		copy(id[:], name)
		rows[id], err = decodeDemandRow(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// change adds or removes rows, and notifies all servers.
func (d *Divider) change(ctx context.Context, fn func(t storage.Txn) error) error {
	return storage.Update(ctx, d.Store, storage.TxnOptions{Essential: true}, storage.Buffered, func(t storage.Txn) error {
		if err := fn(t); err != nil {
			return err
		}
		return keyspace.TouchTopic(ctx, d.Store, t, shareTopic)
	})
}

// sweep removes the demand rows of dead servers: of those that are not members any more after the rows were read.
func (d *Divider) sweep(ctx context.Context, t storage.Txn) error {
	rows, err := readDemandRows(ctx, t)
	if err != nil || len(rows) == 0 {
		return err
	}
	_, list, err := d.members.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range list {
		delete(rows, m.ID)
	}
	for id := range rows {
		if err := t.Delete(demandKey(id)); err != nil {
			return err
		}
	}
	return nil
}

// load is called after the demand rows of servers were added or removed, with a snapshot that has the change. It
// divides the budgets among the new number of servers.
func (d *Divider) load(ctx context.Context, r storage.Reader) error {
	rows, err := readDemandRows(ctx, r)
	if err != nil || d.Budgets.Clock.Stopped() {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, here := rows[d.shares.self]
	d.rowMissing = !here
	if !here {
		rows[d.shares.self] = demandRow{}
	}
	d.hasPeers = len(rows) > 1
	d.joining = d.joining && d.hasPeers
	d.Budgets.SetServers(d.Now(), len(rows), d.joining)
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return nil
}

// Run takes part in the division of the budgets until ctx ends, and then removes the demand row of this server.
func (d *Divider) Run(ctx context.Context) {
	defer d.removeRow(context.WithoutCancel(ctx))
	swept := d.MachineClock()
	for ctx.Err() == nil {
		if !d.mustDivide() {
			d.sleep(ctx, time.Second)
			if !d.mustDivide() {
				continue
			}
		}
		d.report(ctx, d.beginSecond(ctx))
		if at := d.time(); at.Nanosecond() < middleNanos {
			d.sleep(ctx, time.Duration(middleNanos-at.Nanosecond()))
		}
		d.report(ctx, d.readMissed(ctx))
		if d.MachineClock().Sub(swept) > sweepEvery {
			swept = d.MachineClock()
			d.report(ctx, d.sweepDead(ctx))
		}
		at := d.time()
		d.sleep(ctx, at.Truncate(time.Second).Add(time.Second).Sub(at))
	}
}

// middleNanos is a time within a second, in nanoseconds, at which the middle of that second is certainly over.
const middleNanos = int(520 * time.Millisecond)

// report passes on an error, unless the server is stopping.
func (d *Divider) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		d.Failed(fmt.Errorf("the budgets could not be divided among the servers: %w", err))
	}
}

// mustDivide reports whether Run has work: there are peers and limited budgets, and the clock of the budgets is not
// stopped, or the row of this server is missing.
func (d *Divider) mustDivide() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rowMissing {
		return true
	}
	if !d.hasPeers || d.Budgets.Clock.Stopped() {
		return false
	}
	limited := d.Budgets.Limited()
	if !limited && d.joining { // a budget that is created from now on was never divided among the others
		d.joining = false
		d.Budgets.SetServers(d.Now(), d.Budgets.Servers(), false)
	}
	return limited
}

// sleep waits for pause. A wait of a second or more ends early when servers join or leave.
func (d *Divider) sleep(ctx context.Context, pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	var wake <-chan struct{}
	if pause >= time.Second {
		wake = d.wake
	}
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-wake:
	}
}

// time returns the store's time, extrapolated with the machine's clock.
func (d *Divider) time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readAt.IsZero() {
		return d.MachineClock()
	}
	return d.storeTime.Add(d.MachineClock().Sub(d.readAt))
}

// observe records a time that was read from the store.
func (d *Divider) observe(ts storage.Timestamp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readAt, d.storeTime = d.MachineClock(), time.Unix(int64(ts.Seconds()), int64(ts.Increment()>>22)*int64(time.Millisecond))
}

// beginSecond adds the shares of the second that has begun to this server's budgets, and writes the server's demand
// of the last second, if it had any or its row is missing.
func (d *Divider) beginSecond(ctx context.Context) error {
	second := d.time().Unix()
	d.mu.Lock()
	d.shares.grant(d.Now(), second)
	r, write := d.shares.row(d.Now(), second)
	missing := d.rowMissing
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if missing {
		err := d.change(ctx, func(t storage.Txn) error { return t.Set(demandKey(d.shares.self), r.encode()) })
		if err == nil {
			d.mu.Lock()
			d.rowMissing = false
			d.mu.Unlock()
		}
		return err
	}
	if !write {
		return nil
	}
	t, err := d.Store.Begin(ctx, storage.TxnOptions{Essential: true})
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Set(demandKey(d.shares.self), r.encode()); err != nil {
		return err
	}
	_, err = t.Commit(ctx, storage.Buffered)
	return err
}

// readMissed reads the demands for the shares of the next second, and for seconds that were missed; the
// shares of missed seconds are added at once.
func (d *Divider) readMissed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	now, err := d.Store.Now(ctx)
	if err != nil {
		return err
	}
	d.observe(now)
	next := int64(now.Seconds()) + 1
	if now.Increment() < middle {
		next--
	}
	d.mu.Lock()
	missed := d.shares.missed(next)
	d.mu.Unlock()
	for _, second := range missed {
		rows, err := d.state(ctx, second-1)
		if err != nil {
			return err
		}
		d.mu.Lock()
		d.shares.setDemands(second, rows)
		_, here := rows[d.shares.self]
		d.joining = d.joining && !here
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.Budgets.Clock.Stopped() {
		d.shares.grant(d.Now(), d.storeTime.Unix())
	}
	return nil
}

// state reads the demand rows of all servers as of the middle of a second of the store's time, so that all servers
// read the same rows.
func (d *Divider) state(ctx context.Context, second int64) (map[storage.MemberID]demandRow, error) {
	r, err := d.Store.Snapshot(ctx, storage.MakeTimestamp(uint32(second), middle))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readDemandRows(ctx, r)
}

// sweepDead removes the rows of dead servers, if OwnsSweep allows that.
func (d *Divider) sweepDead(ctx context.Context) error {
	if !d.OwnsSweep(ctx) {
		return nil
	}
	r, err := d.Store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	rows, err := readDemandRows(ctx, r)
	r.Close()
	if err != nil {
		return err
	}
	_, list, err := d.members.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range list {
		delete(rows, m.ID)
	}
	if len(rows) == 0 {
		return nil
	}
	return d.change(ctx, func(t storage.Txn) error { return d.sweep(ctx, t) })
}

// removeRow removes the row of this server, so that the others get its part of the reserve.
func (d *Divider) removeRow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	_ = d.change(ctx, func(t storage.Txn) error { return t.Delete(demandKey(d.shares.self)) })
}
