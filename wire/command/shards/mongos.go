package shards

import (
	"context"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire"
)

// Advertised holds functions that return values of this server, which the server publishes to its peers in its
// document in config.mongos.
type Advertised struct {
	// Connections returns the counts of client connections at the listener; nil if they are not available.
	Connections func() wire.ConnStats
	// Draining reports whether the server refuses new commands; nil if it never drains.
	Draining func() bool
}

// opsRate measures the operations per second of a server, between two calls of measure. It is safe for concurrent
// use.
type opsRate struct {
	mu   sync.Mutex
	at   time.Time
	done int64
}

// measure returns the operations per second since the last call; 0 in the first call.
func (p *opsRate) measure(now time.Time, done int64) (rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := now.Sub(p.at).Seconds(); !p.at.IsZero() && s > 0 {
		rate = float64(done-p.done) / s
	}
	p.at, p.done = now, done
	return rate
}

// mongosDoc returns the document of this server in config.mongos. MongoDB does not have its field cantle: the
// server's identity, version, price list, connections, operations per second, and whether it drains.
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
	b.Double("operationsPerSecond", s.opsRate.measure(time.Now(), s.Stats.Requests.Load()))
	b.Bool("draining", s.Advertised.Draining != nil && s.Advertised.Draining())
	b.End()
	return b.Doc()
}

// mongosTimeout is the maximum time for reading the members and their jobs from the store, for config.mongos.
const mongosTimeout = 5 * time.Second

// mongosDocs returns the documents of config.mongos: one for each server with a lease, or for this server if it is
// exclusive; none if the store does not answer. A server that has just started may be missing. Each server publishes
// its document when it renews its lease, at least once per third of the lease. mongosDocs adds the rest of the lease
// and the server's jobs.
func (s *State) mongosDocs() (docs []bson.Raw) {
	if s.Cluster.Exclusive() {
		return []bson.Raw{s.mongosDoc()} // without a lease
	}
	ctx, cancel := context.WithTimeout(context.Background(), mongosTimeout)
	defer cancel()
	now, list, err := s.Cluster.Membership().Members(ctx)
	if err != nil {
		return nil
	}
	rows, err := s.Jobs.Owners.List(ctx, "")
	if err != nil {
		return nil
	}
	for _, m := range list {
		doc, err := bson.Parse(m.Description, bson.Limits{})
		if err != nil {
			continue // it has just started
		}
		b := bson.NewBuilder(nil)
		for name, v := range doc.Fields() {
			if string(name) != "cantle" {
				b.ValueBytes(name, v)
				continue
			}
			own, _ := v.Doc()
			b.BeginDoc("cantle")
			b.Splice(own.Elements())
			b.Int64("leaseSeconds", int64(m.LeaseEnd.Seconds())-int64(now.Seconds()))
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

// Host returns the address at which clients reach a peer, as the peer has published it. If the peer has just started,
// it returns the name of the peer's process.
func Host(m storage.Member) string {
	if doc, err := bson.Parse(m.Description, bson.Limits{}); err == nil {
		if host, ok := doc.Get("_id").Str(); ok {
			return host
		}
	}
	return m.Name
}

// Prices returns the name of a peer's price list, "" if the peer has just started or does not publish it.
func Prices(m storage.Member) string {
	doc, err := bson.Parse(m.Description, bson.Limits{})
	if err != nil {
		return ""
	}
	own, _ := doc.Get("cantle").Doc()
	name, _ := own.Get("prices").Str()
	return name
}

// publishServer registers the document that this server publishes to its peers.
func (s *State) publishServer() {
	s.Cluster.Membership().SetDescription(func() []byte { return s.mongosDoc() })
}
