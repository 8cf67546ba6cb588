package shards

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/traffic"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

const (
	// recordedSeconds is the maximum period of a report of recorded traffic, and the period if the client sets no
	// begin, in seconds: all that is stored.
	recordedSeconds = 3600
	// recordedFields is the maximum number of fields of filters in a report, recordedPartitions the maximum number of
	// partitions that a report can assume.
	recordedFields     = 20
	recordedPartitions = 512
)

// recordedArgs holds the arguments of GetRecordedTraffic; from and to are times in seconds since 1970.
type recordedArgs struct{ partitions, from, to int64 }

// recordedArg reads one argument of GetRecordedTraffic.
func recordedArg(c *command.Call, a *recordedArgs, name string, v bson.Value) (err error) {
	if v.IsMissing() {
		return nil
	}
	n, err := c.LongArg(name, v)
	switch {
	case err != nil:
		return err
	case name == "from":
		a.from = n
		return arguments.Between(name, n, 0, 1<<40)
	case name == "to":
		a.to = n
		return arguments.Between(name, n, 0, 1<<40)
	}
	a.partitions = n
	return arguments.Between(name, n, 1, recordedPartitions)
}

// getRecordedTraffic runs {customAction: "GetRecordedTraffic", collection: "c", shardKey: {k: "hashed"}, suffix,
// partitions, from, to}, which Azure Cosmos DB does not have. From a sample of the statements of the last hour it
// reports their cost, and the partitions that they would visit under another shard key. Without shardKey it lists the
// fields for which statements name a value. The sample covers all servers of the store. Only users that may read
// documents see values.
// Errors: NamespaceNotFound (26), InvalidOptions (72), BadValue (2).
func (s *State) getRecordedTraffic(c *command.Call, a *customArgs) error {
	coll, err := c.Collection(a.ns)
	if err != nil {
		return err
	}
	to := a.recorded.to
	if to == 0 {
		to = c.Cluster.Now().Unix() + 1
	}
	from := max(a.recorded.from, to-recordedSeconds)
	if from >= to {
		return mongoerr.New(mongoerr.BadValue, "from must be before to")
	}
	recorded := s.traffic.Sample(a.ns, from, to)
	recorded.Prices = c.Cluster.Budgets.PriceList()
	q := bson.NewBuilder(nil)
	q.String("db", a.ns.DB)
	q.String("coll", a.ns.Coll)
	q.Int64("from", from)
	q.Int64("to", to)
	samples, incomplete, err := s.callPeers(c.Ctx, callTraffic, q.Doc())
	for i := 0; i < len(samples) && err == nil; i++ {
		err = traffic.Add(recorded, samples[i])
	}
	if err != nil {
		return err
	}
	b := c.Reply
	b.String("database", c.DB)
	b.String("collection", a.ns.Coll)
	if a.shardKey == nil {
		b.BeginArray("fields")
		for _, f := range recorded.Fields(recordedFields) {
			b.BeginDoc("")
			b.String("path", f.Path)
			b.Double("fixed", f.Fixed)
			b.Int32("values", int32(f.Values))
			b.Double("largest", f.Largest)
			b.End()
		}
		b.End()
		appendIncomplete(b, incomplete)
		return nil
	}
	spec, err := shard.WithSuffix(a.shardKey, a.suffix)
	if err != nil {
		return err
	}
	key, err := shard.ParseKeyPattern(spec)
	if err != nil {
		return err
	}
	n := int(a.recorded.partitions)
	if n == 0 {
		n = coll.Map.Len()
	}
	r, err := recorded.Replay(key, n)
	if err != nil {
		return err
	}
	b.Raw("shardKey", key.Spec())
	b.Int32("partitions", int32(n))
	appendReplay(b, r, key, c.Server.MaySeeValues(c.ConnState.Login, a.ns))
	appendIncomplete(b, incomplete)
	return nil
}

// answerTraffic returns the recorded traffic of this server to a peer.
func (s *State) answerTraffic(_ context.Context, question []byte) ([]byte, error) {
	q, err := bson.Parse(question, bson.Limits{})
	if err != nil {
		return nil, err
	}
	var ns collection.Namespace
	ns.DB, _ = q.Get("db").Str()
	ns.Coll, _ = q.Get("coll").Str()
	b := bson.NewBuilder(nil)
	traffic.Encode(b, s.traffic.Sample(ns, whole(q, "from"), whole(q, "to")))
	return b.Doc(), nil
}

// appendReplay appends the partitions that statements would visit.
func appendReplay(b *bson.Builder, r *traffic.Replay, key shard.KeyPattern, named bool) {
	b.Int64("statements", r.Statements)
	b.Int64("samples", r.Samples)
	b.Double("ru", r.RU)
	b.Double("cost", r.Cost)
	b.BeginDoc("goTo")
	b.Double("one", r.One)
	b.Double("some", r.Some)
	b.Double("all", r.All)
	b.Double("unknown", r.Unknown)
	b.End()
	b.BeginArray("values")
	for _, v := range r.Values {
		b.BeginDoc("")
		b.Double("share", v.Share)
		for i, text := range v.Texts {
			if named && text != "" {
				if i == 0 {
					b.BeginDoc("value")
				}
				b.String(key.Fields()[i].Path.String(), text)
			}
			if text == "" {
				break
			}
		}
		if named && len(v.Texts) > 0 && v.Texts[0] != "" {
			b.End()
		}
		b.End()
	}
	b.End()
	b.BeginArray("minutes")
	for _, m := range r.Minutes {
		b.BeginDoc("")
		b.Int64("at", m.At)
		b.Double("ru", m.RU)
		b.BeginArray("loads")
		for _, x := range m.Loads {
			b.Double("", x)
		}
		b.End()
		b.End()
	}
	b.End()
}
