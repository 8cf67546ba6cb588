package shards

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/keyspace"
)

// partitionsSum holds measurements of a collection's partitions that are not in the store, such as RU consumption:
// those of one server, or the sums of several.
type partitionsSum struct {
	thisHour, lastHour int64 // the highest RU/s to which autoscale rose
	parts              map[int]*partitionSum
	heavy              map[string]heavySum // by shard key value
}

// partitionSum holds the measurements of one partition: its RU consumption, its hot keys, and its callers.
type partitionSum struct {
	ratelimit.BucketStats
	byRU, byBytes []ratelimit.Hot
	callers       ratelimit.Callers
}

// heavySum is a large shard key value.
type heavySum struct {
	key   string
	shard shard.ID
	bytes int64
}

// part returns the measurements of the partition with a number, and creates an empty entry if there is none.
func (s *partitionsSum) part(id int) *partitionSum {
	p := s.parts[id]
	if p == nil {
		p = &partitionSum{}
		s.parts[id] = p
	}
	return p
}

// localPartitions returns the measurements that this server has of a collection's partitions, with at most keys hot
// keys of each partition by RU, and as many by bytes.
func (s *State) localPartitions(coll *catalog.Collection, keys int) *partitionsSum {
	now, pool := s.Cluster.Now(), s.Cluster.Budgets.Collection(uint64(coll.ID))
	sum := &partitionsSum{parts: map[int]*partitionSum{}, heavy: map[string]heavySum{}}
	sum.thisHour, sum.lastHour = pool.Autoscaled(now)
	for _, b := range pool.Stats(now) {
		sum.part(b.Shard).BucketStats = b
	}
	for _, d := range coll.Map.Shards() {
		p, hot := sum.part(int(d.ID)), pool.Hot(int(d.ID))
		p.byRU, p.byBytes, p.callers = hot.ByRU.Top(keys), hot.ByBytes.Top(keys), pool.Callers(int(d.ID))
	}
	for _, k := range s.Cluster.Counts(coll.ID).Heavy.List() {
		sum.heavy[k.Key] = heavySum{k.Key, k.Shard(), k.Bytes()}
	}
	return sum
}

// clusterPartitions returns the measurements of a collection's partitions, summed over all servers of the store;
// incomplete lists the servers that did not answer.
func (s *State) clusterPartitions(ctx context.Context, coll *catalog.Collection) (sum *partitionsSum, incomplete []string, err error) {
	q := bson.NewBuilder(nil)
	q.Int64("id", int64(coll.ID))
	others, incomplete, err := s.callPeers(ctx, callPartitions, q.Doc())
	if err != nil {
		return nil, nil, err
	}
	sum = s.localPartitions(coll, hotKeysMax)
	for _, d := range others {
		sum.add(d, s.Cluster.Now())
	}
	return sum, incomplete, nil
}

// hotKeysAnswerMax is the maximum number of hot keys of one kind, of all partitions of a collection together, in an
// answer to a peer. If all keys and their callers have the maximum length, both kinds take three megabytes; the callers of
// 512 partitions take one more.
const hotKeysAnswerMax = 1536

// answerPartitions answers the call of a peer with the measurements that this server has of a collection's
// partitions.
func (s *State) answerPartitions(_ context.Context, question []byte) ([]byte, error) {
	q, err := bson.Parse(question, bson.Limits{})
	if err != nil {
		return nil, err
	}
	coll := s.Cluster.Catalog().ByID(keyspace.CollectionID(whole(q, "id")))
	if coll == nil || coll.Map == nil {
		return bson.Empty, nil
	}
	return s.localPartitions(coll, max(1, min(hotKeysMax, hotKeysAnswerMax/coll.Map.Len()))).doc(s.Cluster.Now()), nil
}

// doc returns the measurements as a document for a peer. Partitions without any are left out.
func (s *partitionsSum) doc(now time.Time) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int64("thisHour", s.thisHour)
	b.Int64("lastHour", s.lastHour)
	b.BeginArray("parts")
	for id, p := range s.parts {
		if p.Total == 0 && p.Throttled == 0 && p.Waiting == 0 && p.Normalized == 0 {
			continue
		}
		b.BeginDoc("")
		b.Int64("id", int64(id))
		for _, n := range []struct {
			name string
			n    int64
		}{{"second", int64(p.LastSecond)}, {"minute", int64(p.LastMinute)}, {"total", int64(p.Total)}, {"busy", int64(p.Normalized)},
			{"refused", p.Throttled}, {"refusedMinute", p.ThrottledMinute}, {"waiting", int64(p.Waiting)}} {
			b.Int64(n.name, n.n)
		}
		appendHotKeys(b, "byRU", p.byRU)
		appendHotKeys(b, "byBytes", p.byBytes)
		appendCallersForPeer(b, &p.callers, now)
		b.End()
	}
	b.End()
	b.BeginArray("heavy")
	for _, h := range s.heavy {
		b.BeginDoc("")
		b.Binary("key", 0, []byte(h.key))
		b.Int64("shard", int64(h.shard))
		b.Int64("bytes", h.bytes)
		b.End()
	}
	b.End()
	return b.Doc()
}

func appendHotKeys(b *bson.Builder, name string, keys []ratelimit.Hot) {
	b.BeginArray(name)
	for _, k := range keys {
		b.BeginDoc("")
		b.Binary("key", 0, []byte(k.Key))
		b.Int64("weight", k.Weight)
		b.Int64("error", k.Error)
		appendKeyCallers(b, k.By)
		b.End()
	}
	b.End()
}

// add adds the measurements of a peer, in its answer d, to the sum. Of the RU/s to which autoscale rose, which
// already include the use at peers, and of the bytes of a large shard key value, the larger measurement is taken.
func (s *partitionsSum) add(d bson.Raw, now time.Time) {
	s.thisHour = max(s.thisHour, whole(d, "thisHour"))
	s.lastHour = max(s.lastHour, whole(d, "lastHour"))
	each(d, "parts", func(d bson.Raw) {
		p := s.part(int(whole(d, "id")))
		p.Add(ratelimit.BucketStats{
			LastSecond: ratelimit.MicroRU(whole(d, "second")), LastMinute: ratelimit.MicroRU(whole(d, "minute")), Total: ratelimit.MicroRU(whole(d, "total")),
			Normalized: int(whole(d, "busy")), Throttled: whole(d, "refused"), ThrottledMinute: whole(d, "refusedMinute"), Waiting: int(whole(d, "waiting")),
		})
		p.byRU = ratelimit.MergeHot(len(p.byRU)+hotKeysMax, p.byRU, parseHotKeys(d, "byRU"))
		p.byBytes = ratelimit.MergeHot(len(p.byBytes)+hotKeysMax, p.byBytes, parseHotKeys(d, "byBytes"))
		mergeCallers(&p.callers, d, now)
	})
	each(d, "heavy", func(d bson.Raw) {
		_, key, _ := d.Get("key").Binary()
		h := heavySum{string(key), shard.ID(whole(d, "shard")), whole(d, "bytes")}
		if s.heavy[h.key].bytes < h.bytes {
			s.heavy[h.key] = h
		}
	})
}

func parseHotKeys(d bson.Raw, name string) (keys []ratelimit.Hot) {
	each(d, name, func(d bson.Raw) {
		_, key, _ := d.Get("key").Binary()
		keys = append(keys, ratelimit.Hot{Key: string(key), Weight: whole(d, "weight"), Error: whole(d, "error"), By: parseKeyCallers(d)})
	})
	return keys
}

// largest lists the large shard key values, the largest first.
func (s *partitionsSum) largest() []heavySum {
	list := make([]heavySum, 0, len(s.heavy))
	for _, h := range s.heavy {
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b heavySum) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.key, b.key)) })
	return list
}
