package tikvfake

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/pingcap/failpoint"
	"github.com/pingcap/goleveldb/leveldb/opt"
	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/log"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/util/async"
	"github.com/tikv/client-go/v2/util/codec"
	pd "github.com/tikv/pd/client"
	"go.uber.org/zap"
)

// Cluster is a simulated cluster. Its clients share what it keeps.
type Cluster struct {
	rpc    *testutils.MockClient
	pd     pd.Client
	Layout *testutils.MockCluster // regions, stores and their leaders

	shape sync.Mutex // one change of the regions at a time: the simulator's do not look at each other

	mu    sync.Mutex
	sent  map[tikvrpc.CmdType]int
	times int // asked of the oracle
	hook  Hook
	noPD  error
	etcd  *etcd            // of PD, if the cluster is Served
	doors map[uint64]*door // of PD, and of stores that have an address of their own
}

// Hook is called for every request. It sends it on with next, as often as it likes, or not.
type Hook func(ctx context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error)

// New makes an empty cluster of one store and one region. Close it in the end. What the client
// has to say of it is dropped.
func New() (*Cluster, error) { return NewOf(1) }

// NewOf is New for so many stores, each with a peer of every region.
func NewOf(stores int) (*Cluster, error) {
	prepare()
	rpc, layout, oracle, err := testutils.NewMockTiKV("", nil)
	if err != nil {
		return nil, err
	}
	testutils.BootstrapWithMultiStores(layout, stores)
	return &Cluster{rpc: rpc, pd: oracle, Layout: layout, sent: map[tikvrpc.CmdType]int{}}, nil
}

// prepare silences the client, and makes it believe that a store lives: it would ask the store's
// address, where nobody listens, and avoid it for good after the first request that failed.
//
// The simulator commits key by key, under one lock, and each key reads a block of every level of
// what it keeps: with values of some MiB near by, which were unpacked again each time, a commit of
// some thousand keys took ten seconds, in which nobody else had an answer. Blocks are kept as they
// are, and in memory.
var prepare = sync.OnceFunc(func() {
	opt.DefaultCompressionType = opt.NoCompression
	opt.DefaultBlockCacheCapacity = blockCacheBytes
	opt.DefaultWriteBuffer = writeBufferBytes
	log.ReplaceGlobals(zap.NewNop(), &log.ZapProperties{Level: zap.NewAtomicLevelAt(zap.ErrorLevel)})
	tikv.EnableFailpoints()
	if err := failpoint.Enable("tikvclient/injectLiveness", `return("reachable")`); err != nil {
		panic("BUG: " + err.Error())
	}
})

// blockCacheBytes bounds the blocks that the simulator has at hand, and writeBufferBytes what it
// has in a list before it makes tables of it.
const (
	blockCacheBytes  = 256 << 20
	writeBufferBytes = 16 << 20
)

// Close drops everything.
func (c *Cluster) Close() error { return c.rpc.Close() }

// Client is a new client of the cluster. Closing it leaves the cluster alone.
func (c *Cluster) Client() (*tikv.KVStore, error) {
	return c.ClientUntil(never)
}

// never is of a client that is not cut off from PD.
func never() error { return nil }

// ClientUntil is a Client that PD does not answer while away says an error, as if it alone
// were cut off.
func (c *Cluster) ClientUntil(away func() error) (*tikv.KVStore, error) {
	return tikv.NewTestTiKVStore(&client{Client: c.rpc, c: c}, c.oracle(away), nil, nil, 0)
}

// SetHook puts a hook before every request; nil takes it away.
func (c *Cluster) SetHook(h Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = h
}

// StopPD makes PD answer nothing but an error from now on; nil starts it again.
func (c *Cluster) StopPD(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noPD = err
}

// Count is what was sent since the last call: requests by their kind, and times asked of the
// oracle. Left out is StoreSafeTS, which a client sends every two seconds by itself.
func (c *Cluster) Count() (sent map[tikvrpc.CmdType]int, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, times = c.sent, c.times
	c.sent, c.times = map[tikvrpc.CmdType]int{}, 0
	return sent, times
}

// client counts requests and calls the hook.
type client struct {
	tikv.Client
	c *Cluster
}

// Close leaves the cluster alone.
func (*client) Close() error { return nil }

// SendRequest implements tikv.Client.
func (k *client) SendRequest(ctx context.Context, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	k.c.mu.Lock()
	if req.Type != tikvrpc.CmdStoreSafeTS {
		k.c.sent[req.Type]++
	}
	hook := k.c.hook
	k.c.mu.Unlock()
	next := func() (*tikvrpc.Response, error) { return k.c.send(ctx, k.Client, addr, req, timeout) }
	if hook == nil {
		return next()
	}
	return hook(ctx, req, next)
}

// send sends a request into the simulator.
func (c *Cluster) send(ctx context.Context, to tikv.Client, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	if req.Type == tikvrpc.CmdUnsafeDestroyRange { // which the simulator does not know
		return c.destroy(req.UnsafeDestroyRange())
	}
	if req.Type == tikvrpc.CmdSplitRegion {
		return c.split(ctx, to, addr, req, timeout)
	}
	if req.Type == tikvrpc.CmdResolveLock && len(req.ResolveLock().Keys) > 0 {
		return c.resolve(ctx, to, addr, req, timeout)
	}
	if len(req.CommittedLocks) > 0 {
		return c.through(ctx, to, addr, req, timeout)
	}
	return to.SendRequest(ctx, addr, req, timeout)
}

// split splits a region as a client wants it. The simulator makes an empty region where one begins
// already, and loses the one that was there: so it would if another client has
// split it since this one looked.
func (c *Cluster) split(ctx context.Context, to tikv.Client, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	c.shape.Lock()
	defer c.shape.Unlock()
	for _, key := range req.SplitRegion().SplitKeys {
		coded := codec.EncodeBytes(nil, key)
		if r, _, _, _ := c.Layout.GetRegionByKey(coded); r.GetId() != req.Context.RegionId || bytes.Equal(r.GetStartKey(), coded) {
			return tikvrpc.GenRegionErrorResp(req, &errorpb.Error{Message: "split", EpochNotMatch: &errorpb.EpochNotMatch{}})
		}
	}
	resp, err := to.SendRequest(ctx, addr, req, timeout)
	if err != nil {
		return resp, err
	}
	if split, ok := resp.Resp.(*kvrpcpb.SplitRegionResponse); ok && split.RegionError == nil {
		ids := []uint64{req.Context.RegionId}
		for _, r := range split.Regions {
			ids = append(ids, r.Id)
		}
		c.renew(ids...)
	}
	return resp, err
}

// resolve resolves the locks of some keys, as a client wants that met one of a small transaction. The simulator
// looks through all versions in the region for them: milliseconds after a few thousand writes, in
// which it does nothing else. Whether the store and the region are the right ones it is asked by a read.
func (c *Cluster) resolve(ctx context.Context, to tikv.Client, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	in, out := req.ResolveLock(), &kvrpcpb.ResolveLockResponse{}
	for _, key := range in.Keys {
		read := tikvrpc.NewRequest(tikvrpc.CmdGet, &kvrpcpb.GetRequest{Key: key, Version: math.MaxUint64}, req.Context)
		resp, err := to.SendRequest(ctx, addr, read, timeout)
		if err != nil {
			return nil, err
		}
		if wrong, err := resp.GetRegionError(); err != nil || wrong != nil {
			out.RegionError = wrong
			return &tikvrpc.Response{Resp: out}, err
		}
		if err := c.settle(key, in.StartVersion, in.CommitVersion); err != nil {
			return nil, err
		}
	}
	return &tikvrpc.Response{Resp: out}, nil
}

// settle commits the lock that a transaction has on a key, or takes it away where at is 0.
func (c *Cluster) settle(key []byte, start, at uint64) error {
	return c.rpc.MvccStore.ResolveLock(key, append(bytes.Clone(key), 0), start, at)
}

// renew makes regions newer than all others, as those are that have split or merged. The simulator
// gives a new region version 1, however often the one has split that it is of: a client that
// knows that one takes the new ones for older, and asks for them again and again.
func (c *Cluster) renew(ids ...uint64) {
	c.Layout.Lock()
	defer c.Layout.Unlock()
	list, newest := c.Layout.GetAllRegions(), uint64(0)
	for _, r := range list {
		newest = max(newest, r.Meta.GetRegionEpoch().GetVersion())
	}
	for _, r := range list {
		if slices.Contains(ids, r.Meta.Id) {
			r.Meta.RegionEpoch = &metapb.RegionEpoch{ConfVer: r.Meta.GetRegionEpoch().GetConfVer(), Version: newest + 1}
		}
	}
}

// SendRequestAsync implements tikv.Client.
func (k *client) SendRequestAsync(ctx context.Context, addr string, req *tikvrpc.Request, cb async.Callback[*tikvrpc.Response]) {
	go func() { cb.Schedule(k.SendRequest(ctx, addr, req, time.Minute)) }()
}

// destroy removes a range of keys from the store, with all versions and locks.
func (c *Cluster) destroy(r *kvrpcpb.UnsafeDestroyRangeRequest) (*tikvrpc.Response, error) {
	out := &kvrpcpb.UnsafeDestroyRangeResponse{}
	if err := c.rpc.MvccStore.DeleteRange(r.StartKey, r.EndKey); err != nil {
		out.Error = err.Error()
	}
	return &tikvrpc.Response{Resp: out}, nil
}

// oracle counts the times asked for, and does not answer while PD is stopped.
type oracle struct {
	pd.Client
	c    *Cluster
	away func() error
}

// oracle is PD for one that it does not answer while away says an error.
func (c *Cluster) oracle(away func() error) *oracle {
	return &oracle{Client: c.pd, c: c, away: away}
}

func (o *oracle) stopped() error {
	if err := o.away(); err != nil {
		return err
	}
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return o.c.noPD
}

// GetTS implements pd.Client.
func (o *oracle) GetTS(ctx context.Context) (physical, logical int64, err error) {
	if err := o.stopped(); err != nil {
		return 0, 0, err
	}
	o.c.mu.Lock()
	o.c.times++
	o.c.mu.Unlock()
	return o.Client.GetTS(ctx)
}

// GetTSAsync implements pd.Client.
func (o *oracle) GetTSAsync(ctx context.Context) pd.TSFuture { return &future{o, ctx} }

// GetRegion implements pd.Client.
func (o *oracle) GetRegion(ctx context.Context, key []byte, opts ...pd.GetRegionOption) (*pd.Region, error) {
	if err := o.stopped(); err != nil {
		return nil, err
	}
	return o.Client.GetRegion(ctx, key, opts...)
}

// future is a time that was asked for.
type future struct {
	o   *oracle
	ctx context.Context
}

// Wait implements pd.TSFuture.
func (f *future) Wait() (int64, int64, error) { return f.o.GetTS(f.ctx) }
