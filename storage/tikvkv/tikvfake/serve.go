package tikvfake

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"github.com/tikv/client-go/v2/tikvrpc"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Serve serves the protocols of PD, of its etcd and of TiKV, so that the real client reaches the
// cluster over real sockets. PD gets the given address. A single store shares that address;
// several stores have an address each. Serve returns PD's address and a function that stops all
// servers.
func (c *Cluster) Serve(address string) (at string, stop func(), err error) {
	l, err := listen(address)
	if err != nil {
		return "", nil, err
	}
	at = l.Addr().String()
	c.setListener(ofPD, l)
	pd := grpc.NewServer(grpc.MaxRecvMsgSize(messageMax), grpc.MaxSendMsgSize(messageMax))
	pdpb.RegisterPDServer(pd, &pdServer{c: c, at: at})
	keys := &etcd{values: map[string][]byte{}}
	c.mu.Lock()
	c.etcd = keys
	c.mu.Unlock()
	etcdserverpb.RegisterKVServer(pd, keys)
	etcdserverpb.RegisterClusterServer(pd, &members{at: at})
	servers := []*grpc.Server{pd}
	stop = func() {
		for _, s := range servers {
			s.Stop()
		}
	}
	stores := c.Layout.GetAllStores()
	for _, store := range stores {
		on, listener := pd, l
		if len(stores) > 1 {
			if listener, err = listen(net.JoinHostPort(host(at), "0")); err != nil {
				stop()
				return "", nil, err
			}
			on = grpc.NewServer(grpc.MaxRecvMsgSize(messageMax), grpc.MaxSendMsgSize(messageMax))
			servers = append(servers, on)
			c.setListener(store.Id, listener)
		}
		addr := listener.Addr().String()
		c.Layout.UpdateStoreAddr(store.Id, addr)
		tikvpb.RegisterTikvServer(on, &node{c: c, at: addr, listener: listener})
		grpc_health_v1.RegisterHealthServer(on, health.NewServer())
		if on != pd {
			go func() { _ = on.Serve(listener) }()
		}
	}
	go func() { _ = pd.Serve(l) }()
	return at, stop, nil
}

// messageMax is the largest message.
const messageMax = 1 << 30

// host returns an address without its port.
func host(at string) string {
	name, _, _ := net.SplitHostPort(at)
	return name
}

// node simulates a TiKV server.
type node struct {
	tikvpb.UnimplementedTikvServer
	c        *Cluster
	at       string
	listener *pausableListener
}

// send passes a request to the hook and the cluster.
func (k *node) send(ctx context.Context, kind tikvrpc.CmdType, msg any, of *kvrpcpb.Context) (any, error) {
	req := tikvrpc.NewRequest(kind, msg)
	if of != nil {
		req.Context = *of
	}
	resp, err := (&client{Client: k.c.rpc, c: k.c}).SendRequest(ctx, k.at, req, time.Minute)
	if errors.Is(err, errCut) {
		k.listener.closeConns()
	}
	if err != nil {
		return nil, err
	}
	// The simulator returns plain keys here, where TiKV returns encoded ones. Without regions in
	// the error, the client looks them up itself.
	if e, err := resp.GetRegionError(); err == nil && e.GetEpochNotMatch() != nil {
		e.EpochNotMatch.CurrentRegions = nil
	}
	return resp.Resp, nil
}

// SplitRegion implements tikvpb.TikvServer.
func (k *node) SplitRegion(ctx context.Context, r *kvrpcpb.SplitRegionRequest) (*kvrpcpb.SplitRegionResponse, error) {
	resp, err := k.send(ctx, tikvrpc.CmdSplitRegion, r, r.Context)
	if err != nil {
		return nil, err
	}
	return resp.(*kvrpcpb.SplitRegionResponse), nil
}

// MvccGetByKey implements tikvpb.TikvServer.
func (k *node) MvccGetByKey(ctx context.Context, r *kvrpcpb.MvccGetByKeyRequest) (*kvrpcpb.MvccGetByKeyResponse, error) {
	resp, err := k.send(ctx, tikvrpc.CmdMvccGetByKey, r, r.Context)
	if err != nil {
		return nil, err
	}
	return resp.(*kvrpcpb.MvccGetByKeyResponse), nil
}

// UnsafeDestroyRange implements tikvpb.TikvServer.
func (k *node) UnsafeDestroyRange(ctx context.Context, r *kvrpcpb.UnsafeDestroyRangeRequest) (*kvrpcpb.UnsafeDestroyRangeResponse, error) {
	resp, err := k.send(ctx, tikvrpc.CmdUnsafeDestroyRange, r, r.Context)
	if err != nil {
		return nil, err
	}
	return resp.(*kvrpcpb.UnsafeDestroyRangeResponse), nil
}

// BatchCommands implements tikvpb.TikvServer: a stream of requests, each answered when it is finished; a failed one
// is not.
func (k *node) BatchCommands(s tikvpb.Tikv_BatchCommandsServer) error {
	var mu sync.Mutex
	for {
		batch, err := s.Recv()
		if err != nil {
			return err
		}
		for i, r := range batch.Requests {
			go func() {
				resp, err := k.one(s.Context(), r)
				if err != nil {
					return // the client gives the request up as lost
				}
				mu.Lock()
				defer mu.Unlock()
				_ = s.Send(&tikvpb.BatchCommandsResponse{Responses: []*tikvpb.BatchCommandsResponse_Response{resp}, RequestIds: batch.RequestIds[i : i+1]})
			}()
		}
	}
}

// one answers a request of a batch.
func (k *node) one(ctx context.Context, r *tikvpb.BatchCommandsRequest_Request) (*tikvpb.BatchCommandsResponse_Response, error) {
	var resp any
	var err error
	out := &tikvpb.BatchCommandsResponse_Response{}
	switch r := r.Cmd.(type) {
	case *tikvpb.BatchCommandsRequest_Request_Get:
		if resp, err = k.send(ctx, tikvrpc.CmdGet, r.Get, r.Get.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_Get{Get: resp.(*kvrpcpb.GetResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_Scan:
		if resp, err = k.send(ctx, tikvrpc.CmdScan, r.Scan, r.Scan.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_Scan{Scan: resp.(*kvrpcpb.ScanResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_Prewrite:
		if resp, err = k.send(ctx, tikvrpc.CmdPrewrite, r.Prewrite, r.Prewrite.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_Prewrite{Prewrite: resp.(*kvrpcpb.PrewriteResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_Commit:
		if resp, err = k.send(ctx, tikvrpc.CmdCommit, r.Commit, r.Commit.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_Commit{Commit: resp.(*kvrpcpb.CommitResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_Cleanup:
		if resp, err = k.send(ctx, tikvrpc.CmdCleanup, r.Cleanup, r.Cleanup.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_Cleanup{Cleanup: resp.(*kvrpcpb.CleanupResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_BatchGet:
		if resp, err = k.send(ctx, tikvrpc.CmdBatchGet, r.BatchGet, r.BatchGet.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_BatchGet{BatchGet: resp.(*kvrpcpb.BatchGetResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_BatchRollback:
		if resp, err = k.send(ctx, tikvrpc.CmdBatchRollback, r.BatchRollback, r.BatchRollback.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_BatchRollback{BatchRollback: resp.(*kvrpcpb.BatchRollbackResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_ScanLock:
		if resp, err = k.send(ctx, tikvrpc.CmdScanLock, r.ScanLock, r.ScanLock.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_ScanLock{ScanLock: resp.(*kvrpcpb.ScanLockResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_ResolveLock:
		if resp, err = k.send(ctx, tikvrpc.CmdResolveLock, r.ResolveLock, r.ResolveLock.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_ResolveLock{ResolveLock: resp.(*kvrpcpb.ResolveLockResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_CheckTxnStatus:
		if resp, err = k.send(ctx, tikvrpc.CmdCheckTxnStatus, r.CheckTxnStatus, r.CheckTxnStatus.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_CheckTxnStatus{CheckTxnStatus: resp.(*kvrpcpb.CheckTxnStatusResponse)}
		}
	case *tikvpb.BatchCommandsRequest_Request_TxnHeartBeat:
		if resp, err = k.send(ctx, tikvrpc.CmdTxnHeartBeat, r.TxnHeartBeat, r.TxnHeartBeat.Context); err == nil {
			out.Cmd = &tikvpb.BatchCommandsResponse_Response_TxnHeartBeat{TxnHeartBeat: resp.(*kvrpcpb.TxnHeartBeatResponse)}
		}
	default:
		out.Cmd = &tikvpb.BatchCommandsResponse_Response_Empty{Empty: &tikvpb.BatchCommandsEmptyResponse{}}
	}
	return out, err
}
