package shards

import (
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire"
)

// Advertised is what a server tells of itself where it is one of several.
type Advertised struct {
	// Connections are those of its clients; nil = nothing is known of them.
	Connections func() wire.ConnStats
	// Draining says that it takes no new commands; nil = it always does.
	Draining func() bool
}

// pace measures how many operations a second a server has between two looks. Safe for concurrent use.
type pace struct {
	mu   sync.Mutex
	at   time.Time
	done int64
}

// look returns the operations a second since the last look.
func (p *pace) look(now time.Time, done int64) (rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := now.Sub(p.at).Seconds(); !p.at.IsZero() && s > 0 {
		rate = float64(done-p.done) / s
	}
	p.at, p.done = now, done
	return rate
}

// mongosDoc is the document of this server in config.mongos. The fields in cantle are not MongoDB's:
// who it is, its version, its price list, its connections, its operations a second, and whether it drains.
// Manual: reference/config-database, config.mongos.
func (s *State) mongosDoc() bson.Raw {
	b := bson.NewBuilder(nil)
	now := s.Cluster.Now()
	b.String("_id", s.Address())
	b.BeginArray("advisoryHostFQDNs")
	b.End()
	b.DateTime("created", s.Started.UnixMilli())
	b.String("mongoVersion", s.Release.Version())
	b.DateTime("ping", now.UnixMilli())
	b.Int64("up", int64(now.Sub(s.Started).Seconds()))
	b.Bool("waiting", true)
	b.BeginDoc("cantle")
	b.String("server", s.Jobs.Self)
	b.String("version", s.Version)
	b.String("prices", s.Cluster.Budgets.PriceList().String())
	if s.Advertised.Connections != nil {
		b.Int32("connections", int32(s.Advertised.Connections().Current))
	}
	b.Double("operationsPerSecond", s.pace.look(time.Now(), s.Stats.Requests.Load()))
	b.Bool("draining", s.Advertised.Draining != nil && s.Advertised.Draining())
	b.End()
	return b.Doc()
}

// mongosPatience is how long the other servers are asked for.
const mongosPatience = 5 * time.Second

// mongosDocs is config.mongos: the servers that live, which is this one where it has the
// store alone. Of several each has told the document itself, within the last third of its lease, and how
// much is left of that and which work it does for all is told beside.
func (s *State) mongosDocs() (docs []bson.Raw) {
	shared := storage.AsShared(s.Cluster.Store)
	if shared == nil {
		return []bson.Raw{s.mongosDoc()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), mongosPatience)
	defer cancel()
	now, list, err := shared.Members(ctx)
	if err != nil {
		return nil
	}
	rows, err := s.Jobs.Duties.List(ctx, "")
	if err != nil {
		return nil
	}
	for _, m := range list {
		told, err := bson.Parse(m.About, bson.Limits{})
		if err != nil {
			continue // it has just begun
		}
		b := bson.NewBuilder(nil)
		for name, v := range told.Fields() {
			if string(name) != "cantle" {
				b.ValueBytes(name, v)
				continue
			}
			own, _ := v.Doc()
			b.BeginDoc("cantle")
			b.Splice(own.Elements())
			b.Int64("leaseSeconds", int64(m.Until.Seconds())-int64(now.Seconds()))
			b.BeginArray("duties")
			for _, row := range rows {
				if row.Owner == m.ID {
					b.String("", row.Name)
				}
			}
			b.End()
			b.End()
		}
		docs = append(docs, b.Doc())
	}
	return docs
}

// Host is how clients reach another server, as it says itself; one that has just begun is called
// by its process.
func Host(m storage.Member) string {
	if told, err := bson.Parse(m.About, bson.Limits{}); err == nil {
		if host, ok := told.Get("_id").Str(); ok {
			return host
		}
	}
	return m.Self
}

// Prices returns the price list by which another server charges, "" for one that has just begun or does not
// tell it.
func Prices(m storage.Member) string {
	told, err := bson.Parse(m.About, bson.Limits{})
	if err != nil {
		return ""
	}
	own, _ := told.Get("cantle").Doc()
	name, _ := own.Get("prices").Str()
	return name
}

// introduce tells the other servers what this one is.
func (s *State) introduce() {
	if shared := storage.AsShared(s.Cluster.Store); shared != nil {
		shared.Introduce(func() []byte { return s.mongosDoc() })
	}
}
