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

// Cluster is a simulated cluster. All its clients share its data.
type Cluster struct {
	rpc    *testutils.MockClient
	pd     pd.Client
	Layout *testutils.MockCluster // regions, stores and their leaders

	regionMu sync.Mutex // one change of regions at a time: the simulator does not check for concurrent changes

	mu        sync.Mutex
	sent      map[tikvrpc.CmdType]int
	times     int // timestamps fetched from PD
	hook      Hook
	pdErr     error
	etcd      *etcd                        // PD's etcd, once the cluster is served
	listeners map[uint64]*pausableListener // listeners of PD, and of stores with an address of their own
}

// Hook is called for every request of a client instead of sending it. It can pass the request on to the simulated
// cluster with next, any number of times, or drop it.
type Hook func(ctx context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error)

// New creates an empty cluster of one store and one region; the caller closes it. The log of client-go is
// dropped.
func New() (*Cluster, error) { return NewOf(1) }

// NewOf creates a cluster of several stores, each with a replica of every region.
func NewOf(stores int) (*Cluster, error) {
	prepare()
	rpc, layout, oracle, err := testutils.NewMockTiKV("", nil)
	if err != nil {
		return nil, err
	}
	testutils.BootstrapWithMultiStores(layout, stores)
	return &Cluster{rpc: rpc, pd: oracle, Layout: layout, sent: map[tikvrpc.CmdType]int{}}, nil
}

// prepare turns off the client's log, and its check whether a store is alive: the check would connect to the
// store's address, on which no server listens, and after the first failed request the client would avoid the
// store for ever.
//
// The simulator commits key by key, under one lock, and each key reads a block of every level of its storage.
// With values of some MiB near by, which were decompressed each time, a commit of some thousand keys took ten
// seconds, and the simulator answered no other request. So blocks are not compressed, and cached in memory.
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

// blockCacheBytes is the size of the simulator's block cache, and writeBufferBytes the size of its memtables.
const (
	blockCacheBytes  = 256 << 20
	writeBufferBytes = 16 << 20
)

// Close drops the cluster and its data.
func (c *Cluster) Close() error { return c.rpc.Close() }

// Client returns a new client of the cluster. Closing it does not close the cluster.
func (c *Cluster) Client() (*tikv.KVStore, error) {
	return c.ClientUntil(alwaysReachable)
}

// alwaysReachable is the argument of ClientUntil for a client that is never cut off from PD.
func alwaysReachable() error { return nil }

// ClientUntil returns a client whose requests for timestamps and regions fail with the error of away while away
// returns one, as if only this client were cut off.
func (c *Cluster) ClientUntil(away func() error) (*tikv.KVStore, error) {
	return tikv.NewTestTiKVStore(&client{Client: c.rpc, c: c}, c.oracle(away), nil, nil, 0)
}

// SetHook sets the hook for every request; nil removes it.
func (c *Cluster) SetHook(h Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = h
}

// StopPD makes PD answer requests for timestamps, regions and its members with err from now on; nil starts PD again.
func (c *Cluster) StopPD(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pdErr = err
}

// Count returns the number of requests by kind, and of timestamps fetched from PD, since the last call. It
// leaves out StoreSafeTS, which a client sends every two seconds by itself.
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

// Close does not close the cluster.
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

// send passes a request to the simulator.
func (c *Cluster) send(ctx context.Context, to tikv.Client, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	if req.Type == tikvrpc.CmdUnsafeDestroyRange { // the simulator does not implement it
		return c.destroy(req.UnsafeDestroyRange())
	}
	if req.Type == tikvrpc.CmdSplitRegion {
		return c.split(ctx, to, addr, req, timeout)
	}
	if req.Type == tikvrpc.CmdResolveLock && len(req.ResolveLock().Keys) > 0 {
		return c.resolve(ctx, to, addr, req, timeout)
	}
	if len(req.CommittedLocks) > 0 {
		return c.sendResolving(ctx, to, addr, req, timeout)
	}
	return to.SendRequest(ctx, addr, req, timeout)
}

// split splits a region. If the key does not lie inside the region any more, because another client has split it, it
// answers with an error: the simulator itself would create an empty region at the key and lose the existing one.
func (c *Cluster) split(ctx context.Context, to tikv.Client, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	c.regionMu.Lock()
	defer c.regionMu.Unlock()
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

// resolve resolves the locks of some keys, as requested by a client that found a lock of a small transaction.
// The simulator itself would scan all versions of the region for them: milliseconds after a few thousand
// writes, in which it answers no other request. A read first checks that the store and the region are the
// right ones.
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

// settle commits the lock that the transaction of the timestamp start has on a key, at the timestamp at, or removes the
// lock if at is 0. Without such a lock it does nothing.
func (c *Cluster) settle(key []byte, start, at uint64) error {
	return c.rpc.MvccStore.ResolveLock(key, append(bytes.Clone(key), 0), start, at)
}

// renew gives regions a newer version than all others, as regions have after a split or merge. The simulator
// gives each new region version 1, even if it was split from one with a higher version: a client that has the
// higher one cached would take the new region for older, and reload it again and again.
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

// oracle is a PD client that counts the timestamps fetched, and fails while PD is stopped.
type oracle struct {
	pd.Client
	c    *Cluster
	away func() error
}

// oracle returns a PD client that fails while away returns an error.
func (c *Cluster) oracle(away func() error) *oracle {
	return &oracle{Client: c.pd, c: c, away: away}
}

func (o *oracle) stopped() error {
	if err := o.away(); err != nil {
		return err
	}
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return o.c.pdErr
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

// future is a pending request for a timestamp.
type future struct {
	o   *oracle
	ctx context.Context
}

// Wait implements pd.TSFuture.
func (f *future) Wait() (int64, int64, error) { return f.o.GetTS(f.ctx) }
