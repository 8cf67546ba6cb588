package shards

import (
	"context"
	"errors"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/shard/ledger"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
)

// newLedger makes the ledger over the store of the cluster; without a cluster it is only in memory.
func (s *State) newLedger() *ledger.Ledger {
	cfg := ledger.Config{Now: time.Now, Failed: func(err error) {
		if errors.Is(err, storage.ErrFollower) { // another server was promoted in place of this one, which the log has already
			return
		}
		s.Log.Warn().Err(err).Msg("the ledger of request units cannot be stored: it is kept in memory until it can")
	}}
	if s.Cluster != nil {
		cfg.Now = s.Cluster.Now
		_ = s.Cluster.WithStore(func(store storage.Store, cat *catalog.Catalog) error {
			if !s.ReadOnly && s.Follower == nil {
				cfg.Store = store
			}
			return nil
		})
		cfg.ValueOf = func(ns collection.Namespace, key []byte) (bson.Raw, bool) {
			coll := s.Cluster.Catalog().Collection(ns)
			if coll == nil || !coll.Sharded() {
				return nil, false
			}
			values, err := coll.Key.LogicalValues(key)
			return values, err == nil
		}
	}
	return ledger.New(cfg)
}

// RunLedger stores the ledger every few seconds until ctx ends, and once after that.
func (s *State) RunLedger(ctx context.Context) { s.ledger.Run(ctx) }

// bill counts the charge of a command in the ledger, as its reply has it. shape is the shape of the command; nil if it
// has none.
func (s *State) bill(c *command.Call, e command.Outcome, shape *history.Shape) {
	hundredths := e.Charge.Hundredths()
	if hundredths == 0 {
		return
	}
	if shape == nil {
		shape = s.ledger.Unshaped(c.Running.NS, c.Def.Name)
	}
	o := ledger.Origin{Caller: c.Op.Caller, Shape: shape, Bucket: c.Op.Paid().Group}
	if c.Op.Class.Operator {
		o.Bucket = ledger.Operator
	}
	s.ledger.Add(c.Conn.ID(), c.Start.Add(e.Took), o, c.Op.ChargedKey(), hundredths)
}

// ledgerPages returns the documents of config.requestUnits: the rows of the ledger, hour by hour. The shard key values of
// collections that the user may not read are left out: their rows are added up. Hours before the least one that the filter
// selects are not read.
func (s *State) ledgerPages(o *cluster.Op, filter bson.Raw) func(context.Context) ([]bson.Raw, error) {
	after := int64(-1)
	hour, _ := filter.Get("hour").Doc()
	if ms, ok := hour.Get("$gte").DateTime(); ok {
		after = max(after, ms/3_600_000-1)
	}
	return func(ctx context.Context) ([]bson.Raw, error) {
		page, last, err := s.ledger.Page(ctx, after)
		if err != nil || len(page) == 0 {
			return nil, err
		}
		after = last
		hide := map[string]bool{}
		hidden := func(ns string) bool {
			h, ok := hide[ns]
			if !ok {
				h = o.Viewer != nil && !o.Viewer.SeesValues(collection.ParseNamespace(ns))
				hide[ns] = h
			}
			return h
		}
		docs := make([]bson.Raw, 0, len(page))
		for _, r := range ledger.Hide(page, hidden) {
			docs = append(docs, ledgerDoc(&r))
		}
		return docs, nil
	}
}

// ledgerDoc returns the document of a row.
func ledgerDoc(r *ledger.HourRow) bson.Raw {
	b := bson.NewBuilder(nil)
	id := func() {
		b.DateTime("hour", r.Start*1000)
		b.String("by", r.Kind.Name())
		if r.Others {
			b.Bool("others", true)
		} else {
			b.String("name", r.Name)
		}
	}
	b.BeginDoc("_id")
	id()
	b.End()
	id()
	r.AppendParts(b)
	b.Int64("commands", r.Commands)
	b.Int64("hundredths", r.Hundredths)
	b.Double("requestUnits", float64(r.Hundredths)/100)
	return b.Doc()
}
