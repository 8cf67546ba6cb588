package tikvkv

import (
	"bytes"
	"context"
	"errors"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/txnkv/txnlock"
)

// pageRequest describes a part of a range of the cluster's keys that is fetched in one request.
// The scanners of the client are not used: they take no context, so a stopped TiKV store
// would block a reader for a minute, and they fetch a fixed number of rows, however large.
type pageRequest struct {
	start, end []byte // end is never nil
	reverse    bool   // from the end
	keysOnly   bool
	rows       int // at most
}

// page holds fetched keys and their values. next is the start of the rest of the range, or in
// reverse its end; nil if there is no rest.
type page struct {
	keys, values [][]byte
	next         []byte
}

// pageRowsMax is the maximum number of rows of a page. pageBackoff is the time for which the
// client itself retries, in milliseconds.
const (
	pageRowsMax = 1024
	pageBackoff = 20000
)

// page fetches a page at a PD timestamp. Even if there is a rest, it may have fewer rows than requested, or none: if
// a region ends there, or locked keys turn out to be absent.
func (r *rows) page(ctx context.Context, ts uint64, w pageRequest) (page, error) {
	if bytes.Compare(w.start, w.end) >= 0 {
		return page{}, nil
	}
	e := r.cluster.beginRequest(ctx, r.limits.read)
	defer e.end()
	bo := tikv.NewBackofferWithVars(e, pageBackoff, nil)
	for {
		p, again, err := r.tryPage(bo, ts, w)
		if err != nil {
			return page{}, e.fail(err)
		}
		if !again {
			return p, r.checkRetained(ctx, ts)
		}
	}
}

// tryPage sends one scan request for a page, to the region where the range begins, or in reverse ends. If again is
// true, the caller retries: the regions were looked up again, or a lock was resolved.
func (r *rows) tryPage(bo *tikv.Backoffer, ts uint64, w pageRequest) (p page, again bool, err error) {
	regions := r.cluster.kv.GetRegionCache()
	locate := regions.LocateKey
	key := w.start
	if w.reverse {
		locate, key = regions.LocateEndKey, w.end
	}
	loc, err := locate(bo, key)
	if err != nil {
		return p, false, err
	}
	start, end := w.start, w.end
	if bytes.Compare(loc.StartKey, start) > 0 {
		start = loc.StartKey
	}
	if len(loc.EndKey) > 0 && bytes.Compare(loc.EndKey, end) < 0 {
		end = loc.EndKey
	}
	scan := &kvrpcpb.ScanRequest{StartKey: start, EndKey: end, Limit: uint32(w.rows), Version: ts, KeyOnly: w.keysOnly}
	if w.reverse {
		scan.StartKey, scan.EndKey, scan.Reverse = end, start, true
	}
	resp, err := r.cluster.kv.SendReq(bo, tikvrpc.NewRequest(tikvrpc.CmdScan, scan), loc.Region, tikv.ReadTimeoutMedium)
	if err != nil {
		return p, false, err
	}
	if broken, err := resp.GetRegionError(); err != nil {
		return p, false, err
	} else if broken != nil {
		if broken.GetEpochNotMatch() == nil || len(broken.GetEpochNotMatch().GetCurrentRegions()) == 0 {
			err = bo.Backoff(tikv.BoRegionMiss(), errors.New(broken.String()))
		}
		return p, true, err
	}
	got, ok := resp.Resp.(*kvrpcpb.ScanResponse)
	if !ok {
		return p, false, tikverr.ErrBodyMissing
	}
	if err := r.cluster.kv.CheckVisibility(ts); err != nil {
		return p, false, err
	}
	if got.Error != nil {
		return p, true, r.resolveLock(bo, ts, got.Error)
	}
	if err := r.fill(bo, ts, &p, got.Pairs); err != nil {
		return p, false, err
	}
	p.next = restOf(w, start, end, got.Pairs)
	return p, false, nil
}

// restOf returns the key at which the rest of a requested range begins, or in reverse ends, after a region has
// answered for the keys from start to end with pairs; nil if there is no rest.
func restOf(w pageRequest, start, end []byte, pairs []*kvrpcpb.KvPair) []byte {
	switch full := len(pairs) >= w.rows; {
	case full && w.reverse:
		return pairs[len(pairs)-1].Key
	case full:
		return append(bytes.Clone(pairs[len(pairs)-1].Key), 0)
	case w.reverse && bytes.Compare(start, w.start) > 0:
		return start
	case !w.reverse && bytes.Compare(end, w.end) < 0:
		return end
	}
	return nil
}

// resolveLock resolves a lock that blocks reads at a PD timestamp, or waits for a short time if its transaction is
// alive; then the caller retries.
func (r *rows) resolveLock(bo *tikv.Backoffer, ts uint64, e *kvrpcpb.KeyError) error {
	lock, err := txnlock.ExtractLockFromKeyErr(e)
	if err != nil {
		return err
	}
	wait, err := r.cluster.kv.GetLockResolver().ResolveLocks(bo, ts, []*txnlock.Lock{lock})
	if err == nil && wait > 0 {
		err = bo.BackoffWithMaxSleepTxnLockFast(int(wait), errors.New("a key is locked during a scan"))
	}
	return err
}

// fill adds the pairs of a response to the page. Keys that were locked are read again in one
// batch; those that turn out to be absent are left out.
func (r *rows) fill(bo *tikv.Backoffer, ts uint64, p *page, pairs []*kvrpcpb.KvPair) error {
	var locked [][]byte
	for _, pair := range pairs {
		if pair.Error != nil {
			lock, err := txnlock.ExtractLockFromKeyErr(pair.Error)
			if err != nil {
				return err
			}
			pair.Key = lock.Key
			locked = append(locked, lock.Key)
		}
	}
	again := map[string][]byte{}
	if len(locked) > 0 {
		got, err := r.cluster.kv.GetSnapshot(ts).BatchGet(bo.GetCtx(), locked)
		if err != nil {
			return err
		}
		for k, entry := range got {
			again[k] = entry.Value
		}
	}
	p.keys = make([][]byte, 0, len(pairs))
	p.values = make([][]byte, 0, len(pairs))
	for _, pair := range pairs {
		value := pair.Value
		if pair.Error != nil {
			if value = again[string(pair.Key)]; value == nil {
				continue
			}
		}
		p.keys, p.values = append(p.keys, pair.Key), append(p.values, value)
	}
	return nil
}
