package shards

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// sampleBucket is a token bucket that limits how many queries are sampled per second. Its capacity is sampleBurst
// seconds of the rate, at least one token. It is safe for concurrent use.
type sampleBucket struct {
	mu     sync.Mutex
	tokens float64
	at     time.Time
}

// sampleBurst is the capacity of a sampleBucket, in seconds of its rate.
const sampleBurst = 2

// take takes a token, and reports whether there was one.
func (b *sampleBucket) take(now time.Time, rate float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := max(1, rate*sampleBurst)
	if b.at.IsZero() {
		b.tokens = most
	} else if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.tokens = min(most, b.tokens+passed*rate)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// sampleQuery stores a command that succeeded, or some of its statements, in config.sampledQueries, if a query
// analyzer samples its collection. The samples are stored before the client gets the reply; errors are only logged.
// Manual: reference/command/configureQueryAnalyzer.
func (s *State) sampleQuery(c *command.Call, err error) {
	on := s.analyzers.on.Load()
	if on == nil || err != nil || !c.Def.Facts.Has(command.Sampled) {
		return
	}
	a := (*on)[c.Running.NS]
	if a == nil {
		return
	}
	now := s.Cluster.Now()
	var docs []bson.Raw
	keep := func(cmd bson.Raw) {
		if len(cmd) > sampledBytesMax {
			return
		}
		var id [16]byte
		rand.Read(id[:])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		b := bson.NewBuilder(nil)
		b.Binary("_id", 4, id[:])
		b.String("ns", a.ns.String())
		b.Binary("collectionUuid", 4, a.uuid[:])
		b.String("cmdName", c.Def.Name)
		b.Raw("cmd", cmd)
		b.DateTime("expireAt", now.Add(sampleExpiry).UnixMilli())
		docs = append(docs, b.Doc())
	}
	switch d := c.Def; {
	case d.Statements != "":
		c.EachStatement(func(statement bson.Raw) bool {
			if !a.bucket.take(now, a.rate) {
				return false
			}
			b := bson.NewBuilder(nil)
			b.String(d.Name, a.ns.Coll)
			b.BeginArray(d.Statements)
			b.Raw("", statement)
			b.End()
			if let, ok := c.Body.Get("let").Doc(); ok {
				b.Raw("let", let)
			}
			keep(b.Doc())
			return true
		})
	case !a.bucket.take(now, a.rate):
	case d.Kind == command.KindRead:
		filter, _ := d.Query(c.Body)
		keep(sampledRead(c, filter))
	default:
		keep(withoutGeneric(c.Body))
	}
	if len(docs) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), sampleTimeMax)
	defer stop()
	env := mql.NewEnv(ctx)
	env.NowMillis, env.DB = now.UnixMilli(), sampledNS.DB
	_, failed, ierr := s.Cluster.Insert(&cluster.Op{Env: env, TxnNumber: -1}, sampledNS, docs, false)
	if ierr == nil && len(failed) > 0 {
		ierr = failed[0].Err
	}
	if ierr != nil {
		s.Log.Warn().Err(ierr).Stringer("collection", a.ns).Msg("sampled queries were lost: config.sampledQueries cannot be written")
	}
}

// sampledRead returns the stored parts of a read: {filter, collation, let}.
func sampledRead(c *command.Call, filter bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	if filter == nil {
		filter = bson.Empty
	}
	b.Raw("filter", filter)
	for _, name := range []string{"collation", "let"} {
		if d, ok := c.Body.Get(name).Doc(); ok {
			b.Raw(name, d)
		}
	}
	return b.Doc()
}

// withoutGeneric returns a command without the arguments that a driver adds to it, such as the session, times and
// concerns.
func withoutGeneric(body bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := body.Iter(); it.Next(); {
		switch string(it.Name) {
		case "lsid", "$clusterTime", "txnNumber", "autocommit", "startTransaction", "$readPreference", "readConcern", "writeConcern", "maxTimeMS", "apiVersion", "stmtId", "stmtIds":
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return b.Doc()
}

// eachSample visits the samples that have not expired.
func (s *State) eachSample(o *cluster.Op, visit func(doc bson.Raw) error) error {
	if s.Cluster.Catalog().Collection(sampledNS) == nil {
		return nil
	}
	env := *o.Env
	env.DB = sampledNS.DB
	rows, err := s.Cluster.Find(&cluster.Op{Env: &env, TxnNumber: -1}, sampledNS, plan.Find{})
	if err != nil {
		return err
	}
	defer rows.Close()
	now := s.Cluster.Now().UnixMilli()
	for {
		row, err := rows.Next(&env)
		if row == nil || err != nil {
			return err
		}
		if at, ok := row.Doc.Get("expireAt").DateTime(); ok && at < now {
			continue
		}
		if err := visit(row.Doc); err != nil {
			return err
		}
	}
}
