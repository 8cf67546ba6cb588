package tikvfake

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	clock "github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikv"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// pdServer simulates a PD server: the oracle and the locations of regions.
type pdServer struct {
	pdpb.UnimplementedPDServer
	c  *Cluster
	at string
	mu sync.Mutex // one batch of timestamps at a time
}

// clusterID is the ID of the simulated cluster.
const clusterID = 1

func (p *pdServer) pd() *oracle { return p.c.oracle(alwaysReachable) }

func header() *pdpb.ResponseHeader { return &pdpb.ResponseHeader{ClusterId: clusterID} }

// GetMembers implements pdpb.PDServer.
func (p *pdServer) GetMembers(context.Context, *pdpb.GetMembersRequest) (*pdpb.GetMembersResponse, error) {
	if err := p.pd().stopped(); err != nil {
		return nil, err
	}
	self := &pdpb.Member{Name: "pd", MemberId: 1, ClientUrls: []string{"http://" + p.at}, PeerUrls: []string{"http://" + p.at}}
	return &pdpb.GetMembersResponse{Header: header(), Members: []*pdpb.Member{self}, Leader: self, EtcdLeader: self}, nil
}

// GetClusterInfo implements pdpb.PDServer.
func (p *pdServer) GetClusterInfo(context.Context, *pdpb.GetClusterInfoRequest) (*pdpb.GetClusterInfoResponse, error) {
	return &pdpb.GetClusterInfoResponse{Header: header(), ServiceModes: []pdpb.ServiceMode{pdpb.ServiceMode_PD_SVC_MODE}}, nil
}

// Tso implements pdpb.PDServer.
func (p *pdServer) Tso(s pdpb.PD_TsoServer) error {
	for {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		physical, logical, err := p.times(s.Context(), r.Count)
		if err != nil {
			return err
		}
		if err := s.Send(&pdpb.TsoResponse{Header: header(), Count: r.Count, Timestamp: &pdpb.Timestamp{Physical: physical, Logical: logical}}); err != nil {
			return err
		}
	}
}

// times fetches n consecutive timestamps within one millisecond, and returns the last one.
func (p *pdServer) times(ctx context.Context, n uint32) (physical, logical int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, run := int64(-1), uint32(0)
	for run < n {
		if physical, logical, err = p.pd().GetTS(ctx); err != nil {
			return 0, 0, err
		}
		if run++; physical != last {
			last, run = physical, 1
		}
	}
	return physical, logical, nil
}

// region encodes a region for the protocol.
func (p *pdServer) region(r *metapb.Region, leader *metapb.Peer) (*pdpb.GetRegionResponse, error) {
	return &pdpb.GetRegionResponse{Header: header(), Region: r, Leader: leader}, p.pd().stopped()
}

// GetRegion implements pdpb.PDServer.
func (p *pdServer) GetRegion(_ context.Context, r *pdpb.GetRegionRequest) (*pdpb.GetRegionResponse, error) {
	found, leader, _, _ := p.c.Layout.GetRegionByKey(r.RegionKey)
	return p.region(found, leader)
}

// GetPrevRegion implements pdpb.PDServer.
func (p *pdServer) GetPrevRegion(_ context.Context, r *pdpb.GetRegionRequest) (*pdpb.GetRegionResponse, error) {
	found, leader, _, _ := p.c.Layout.GetPrevRegionByKey(r.RegionKey)
	return p.region(found, leader)
}

// GetRegionByID implements pdpb.PDServer.
func (p *pdServer) GetRegionByID(_ context.Context, r *pdpb.GetRegionByIDRequest) (*pdpb.GetRegionResponse, error) {
	found, leader, _, _ := p.c.Layout.GetRegionByID(r.RegionId)
	return p.region(found, leader)
}

// regions encodes the regions of a range for the protocol.
func (p *pdServer) regions(start, end []byte, limit int32) (out []*pdpb.Region) {
	for _, f := range p.c.Layout.ScanRegions(start, end, int(limit)) {
		out = append(out, &pdpb.Region{Region: f.Meta, Leader: f.Leader})
	}
	return out
}

// BatchScanRegions implements pdpb.PDServer.
func (p *pdServer) BatchScanRegions(_ context.Context, r *pdpb.BatchScanRegionsRequest) (*pdpb.BatchScanRegionsResponse, error) {
	out := &pdpb.BatchScanRegionsResponse{Header: header()}
	for _, each := range r.Ranges {
		out.Regions = append(out.Regions, p.regions(each.StartKey, each.EndKey, r.Limit)...)
	}
	return out, p.pd().stopped()
}

// ScanRegions implements pdpb.PDServer.
func (p *pdServer) ScanRegions(_ context.Context, r *pdpb.ScanRegionsRequest) (*pdpb.ScanRegionsResponse, error) {
	return &pdpb.ScanRegionsResponse{Header: header(), Regions: p.regions(r.StartKey, r.EndKey, r.Limit)}, p.pd().stopped()
}

// ScatterRegion implements pdpb.PDServer. It does nothing.
func (p *pdServer) ScatterRegion(context.Context, *pdpb.ScatterRegionRequest) (*pdpb.ScatterRegionResponse, error) {
	return &pdpb.ScatterRegionResponse{Header: header(), FinishedPercentage: 100}, p.pd().stopped()
}

// GetStore implements pdpb.PDServer.
func (p *pdServer) GetStore(ctx context.Context, r *pdpb.GetStoreRequest) (*pdpb.GetStoreResponse, error) {
	store, err := p.c.pd.GetStore(ctx, r.StoreId)
	return &pdpb.GetStoreResponse{Header: header(), Store: store}, err
}

// GetAllStores implements pdpb.PDServer.
func (p *pdServer) GetAllStores(ctx context.Context, _ *pdpb.GetAllStoresRequest) (*pdpb.GetAllStoresResponse, error) {
	stores, err := p.c.pd.GetAllStores(ctx)
	return &pdpb.GetAllStoresResponse{Header: header(), Stores: stores}, err
}

// UpdateGCSafePoint implements pdpb.PDServer.
func (p *pdServer) UpdateGCSafePoint(ctx context.Context, r *pdpb.UpdateGCSafePointRequest) (*pdpb.UpdateGCSafePointResponse, error) {
	point, err := p.c.pd.UpdateGCSafePoint(ctx, r.SafePoint)
	return &pdpb.UpdateGCSafePointResponse{Header: header(), NewSafePoint: point}, err
}

// UpdateServiceGCSafePoint implements pdpb.PDServer.
func (p *pdServer) UpdateServiceGCSafePoint(ctx context.Context, r *pdpb.UpdateServiceGCSafePointRequest) (*pdpb.UpdateServiceGCSafePointResponse, error) {
	point, err := p.c.pd.UpdateServiceGCSafePoint(ctx, string(r.ServiceId), r.TTL, r.SafePoint)
	return &pdpb.UpdateServiceGCSafePointResponse{Header: header(), ServiceId: r.ServiceId, TTL: r.TTL, MinSafePoint: point}, err
}

// etcd simulates the etcd in PD, in which clients read the safe point.
type etcd struct {
	etcdserverpb.UnimplementedKVServer
	mu     sync.Mutex
	values map[string][]byte
}

// Collect sets the safe point that clients read under a prefix of PD's etcd to now, as another program may do. The
// clients read it every ten seconds, and from then on refuse reads before it. The cluster has to be served (Serve).
// No versions are removed.
func (c *Cluster) Collect(ctx context.Context, prefix string) error {
	physical, logical, err := c.pd.GetTS(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	keys := c.etcd
	c.mu.Unlock()
	point := strconv.FormatUint(clock.ComposeTS(physical, logical), 10)
	_, err = keys.Put(ctx, &etcdserverpb.PutRequest{Key: []byte(prefix + tikv.GcSavedSafePoint), Value: []byte(point)})
	return err
}

// Range implements etcdserverpb.KVServer.
func (e *etcd) Range(_ context.Context, r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{ClusterId: clusterID}}
	for k, v := range e.values {
		if k == string(r.Key) || len(r.RangeEnd) > 0 && k >= string(r.Key) && k < string(r.RangeEnd) {
			out.Kvs = append(out.Kvs, &mvccpb.KeyValue{Key: []byte(k), Value: v})
		}
	}
	slices.SortFunc(out.Kvs, func(a, b *mvccpb.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	out.Count = int64(len(out.Kvs))
	return out, nil
}

// Put implements etcdserverpb.KVServer.
func (e *etcd) Put(_ context.Context, r *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.values[string(r.Key)] = r.Value
	return &etcdserverpb.PutResponse{Header: &etcdserverpb.ResponseHeader{ClusterId: clusterID}}, nil
}

// members simulates the member list of PD's etcd.
type members struct {
	etcdserverpb.UnimplementedClusterServer
	at string
}

// MemberList implements etcdserverpb.ClusterServer.
func (m *members) MemberList(context.Context, *etcdserverpb.MemberListRequest) (*etcdserverpb.MemberListResponse, error) {
	return &etcdserverpb.MemberListResponse{Header: &etcdserverpb.ResponseHeader{ClusterId: clusterID},
		Members: []*etcdserverpb.Member{{ID: 1, Name: "pd", ClientURLs: []string{"http://" + m.at}}}}, nil
}
