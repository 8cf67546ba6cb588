package cli

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/account"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/shard/cluster"
)

// This file makes collections, with options and shard keys, and indexes. If the server refuses one, the refusal is
// recorded (restoring.recordLost), and the restore continues.

// isRefusal reports whether an error is a server's refusal of a command, and not a failure of the connection.
func isRefusal(err error) bool {
	var refused mongo.CommandError
	return errors.As(err, &refused)
}

// errNotMade is the error for a collection that the server refused to make; the refusal has been recorded.
var errNotMade = errors.New("the collection does not exist")

// create makes the collection on the server, with its options and shard key. own has the properties that dumping.ownOf
// put into the dump. Only createInAccount sets the throughput of the dump here; otherwise provision sets it after the
// load, because a limit would slow the load down.
// Errors: errNotMade; errors of the connection; with --stopOnError, the server's refusal.
func (l *loading) create(ctx context.Context, options, own bson.Raw) error {
	if offer, ok := own.Get("throughput").Doc(); ok {
		l.offer = offer.Clone()
	}
	l.lastWrite = own.Get(index.LastWriteOption).Clone()
	key, _ := own.Get("shardKey").Doc()
	if l.asked = l.r.requestedKey(l.source, l.Kind); l.asked != nil {
		key = l.asked
	}
	if l.r.account && key != nil {
		field, ok := account.FieldOf(key)
		if ok {
			return l.made(l.createInAccount(ctx, field), options)
		}
		l.r.recordLost("%s: the shard key was not restored: in an account it has one field, in the dump it is %s", l.NS(), ejson.String(key))
		key = nil
	}
	create := bson.D{{"create", l.Coll}}
	for name, v := range options.Fields() {
		if !l.r.noOptions && string(name) != "autoIndexId" && string(name) != "uuid" {
			create = append(create, bson.E{string(name), v})
		}
	}
	_, err := l.t.run(ctx, l.DB, create.Doc())
	if err = l.made(err, options); err != nil || key == nil {
		return err
	}
	shard := bson.D{{"shardCollection", l.NS()}, {"key", key}}
	if l.asked == nil {
		shard = append(shard, bson.E{"unique", own.Get("unique").Truthy()})
	}
	_, err = l.t.run(ctx, "admin", shard.Doc())
	if isRefusal(err) {
		l.r.recordLost("%s is not sharded by %s: %v", l.NS(), ejson.String(key), l.r.explain(err))
		err = nil
	}
	return err
}

// made handles the error of making a collection. If the collection exists already (code 48), it stays unchanged, and
// made returns nil. If the server refuses, made records that and returns errNotMade; with --stopOnError it returns
// the refusal.
func (l *loading) made(err error, options bson.Raw) error {
	switch {
	case err == nil, isCode(err, 48):
		return nil
	case !isRefusal(err) || l.r.stop:
		return err
	case !options.IsEmpty():
		l.r.recordLost("%s is not restored, nor its documents: %v (--no-options makes collections without options)", l.NS(), l.r.explain(err))
	default:
		l.r.recordLost("%s is not restored, nor its documents: %v", l.NS(), l.r.explain(err))
	}
	return errNotMade
}

// requestedKey returns the shard key that --shard-key sets for a collection of the dump, nil for none. It also
// records that the dump has the collection, so that the flag cannot name a missing one unnoticed.
func (r *restoring) requestedKey(source, kind string) bson.Raw {
	r.mu.Lock()
	r.keyed[source] = true
	r.mu.Unlock()
	if kind != "collection" {
		return nil
	}
	return r.keys.Of(source)
}

// makeDatabase makes a database whose collections share throughput. It does so once, before the database's first
// collection is made, because only collections made later share it. An existing database keeps its throughput.
// Errors: errors of the connection.
func (r *restoring) makeDatabase(ctx context.Context, t *transfer, db string, offer bson.Raw) error {
	r.making.Lock()
	defer r.making.Unlock()
	if r.made[db] {
		return nil
	}
	r.made[db] = true
	_, err := t.run(ctx, db, append(bson.D{{"customAction", "CreateDatabase"}}, offer.D()...).Doc())
	if !isRefusal(err) {
		return err
	}
	switch is := t.shared(ctx, db); {
	case is.IsEmpty() && !isCode(err, 48):
		r.recordLost("%s: the throughput that its collections share was not restored: %v", db, r.explain(err))
	case !bson.Equal(is.Value(), offer.Value(), nil):
		r.shows.Logf("%s exists and keeps its throughput; in the dump its collections share %s", db, ejson.String(offer))
	}
	return nil
}

// createInAccount makes a collection sharded by a field, with the extension command of accounts. It sets the
// throughput of the dump at once, because the default throughput of an account would slow down the load.
// Source: Azure Cosmos DB for MongoDB, "custom-commands".
func (l *loading) createInAccount(ctx context.Context, field string) error {
	_, err := l.t.run(ctx, l.DB, bson.D{{"customAction", "CreateCollection"}, {"collection", l.Coll}, {"shardKey", field},
		{"offerThroughput", l.offer.Get("offerThroughput")}, {"autoScaleSettings", l.offer.Get("autoScaleSettings")}}.Doc())
	return err
}

// bucketsIn returns the parameters of a time-series collection's buckets, read from its options in the dump; nil for
// other collections.
func bucketsIn(options bson.Raw) *agg.Buckets {
	d, ok := options.Get("timeseries").Doc()
	if !ok {
		return nil
	}
	o := catalog.Options{TimeSeries: d}
	o.TimeField, _ = d.Get("timeField").Str()
	o.MetaField, _ = d.Get("metaField").Str()
	b := cluster.BucketsOf(&o)
	return &b
}

// index makes the indexes in list with one command; if the server refuses that, one by one, and records each refused
// index.
// Errors: errors of the connection.
func (l *loading) index(ctx context.Context, t *transfer, list []bson.Raw) error {
	if len(list) == 0 {
		return nil
	}
	_, err := t.run(ctx, l.DB, bson.D{{"createIndexes", l.Coll}, {"indexes", bson.Docs(list)}}.Doc())
	if !isRefusal(err) {
		return err
	}
	if len(list) == 1 {
		name, _ := list[0].Get("name").Str()
		l.r.recordLost("%s has no index %s: %v", l.NS(), name, l.r.explain(err))
		return nil
	}
	for i := range list {
		if err := l.index(ctx, t, list[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// hasDate reports whether a document has a date in the field _ts, alone or in an array, by which an index {_ts: 1} of
// MongoDB would expire the document. In an account _ts is not a field.
// Source: Azure Cosmos DB for MongoDB, "time-to-live".
func hasDate(doc bson.Raw) bool {
	switch v := doc.Get("_ts"); v.Type {
	case bson.TypeDateTime:
		return true
	case bson.TypeArray:
		list, _ := v.Array()
		for x := range list.Values() {
			if x.Type == bson.TypeDateTime {
				return true
			}
		}
	}
	return false
}

// expiry returns the specifications of the indexes {_ts: 1} that expire documents, in the form that the server takes.
// They expire by the last write if --expireAfterLastWrite is set, if they did so in the dump, or if the dump looks
// like an account's and no document has a date in _ts.
func (l *loading) expiry() (out []bson.Raw) {
	kept, known := l.lastWrite.Doc() // a Cantle wrote the dump
	for _, x := range l.expiring {
		name, _ := x.Get("name").Str()
		seconds, _ := x.Get("expireAfterSeconds").AsInt64()
		byWrite := l.r.lastWrite || x.Get(index.LastWriteOption).Truthy() || !known && account.IsListed(x) && !l.dated
		if n, ok := kept.Get(name).AsInt64(); ok {
			byWrite, seconds = true, n
		}
		switch {
		case !byWrite:
			if !known && !l.dated && l.seen > 0 {
				l.r.shows.Logf("%s: the index %s expires documents by the field _ts, which no document has. If the dump is from an account, restore it with --expireAfterLastWrite", l.NS(), name)
			}
			out = append(out, account.New(x, nil))
		case l.r.account:
			out = append(out, account.ByLastWrite(x, seconds))
		default:
			out = append(out, index.WithLastWrite(account.ByLastWrite(x, seconds)))
		}
	}
	return out
}
