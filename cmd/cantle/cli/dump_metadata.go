package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/account"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/collection/index"
)

// dumping is the state of a dump.
type dumping struct {
	*transfer
	dumpArgs
	account bool // the server is an account, or behaves like one
	shows   *progress.Shared

	mu      sync.Mutex
	omitted []string // parts without a counterpart in MongoDB, by collection
	shared  int64    // documents that share their _id with another one
}

// recordOmitted records a part that the dump leaves out.
func (a *dumping) recordOmitted(ns, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.omitted = append(a.omitted, ns+": "+what)
}

// verdict prints, at the end of a dump, the parts that were left out of it.
// Errors: documents that an unsharded collection cannot hold, because they share an _id.
func (a *dumping) verdict(errs io.Writer) error {
	if len(a.omitted) > 0 {
		fmt.Fprintln(errs, "left out of the dump, because MongoDB has no counterpart:")
		for _, text := range a.omitted {
			fmt.Fprintln(errs, "  "+text)
		}
	}
	if a.shared > 0 {
		return fmt.Errorf("%s %s the same _id as another document of their collection: MongoDB can store them only in a sharded collection", columns.Plural(a.shared, "document"), have(a.shared))
	}
	return nil
}

// noteShared records that documents of a collection share their _id.
func (a *dumping) noteShared(d *dumps.Collection, n int64) {
	if n == 0 {
		return
	}
	a.shows.Logf("%s: %s %s the same _id as a document with another shard key", d.NS(), columns.Plural(n, "document"), have(n))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shared += n
}

// sharedIDs counts documents whose _id equals that of the document before. The documents must come in the order of
// _id.
type sharedIDs struct {
	on   bool
	last bson.Value
	n    int64
}

func (s *sharedIDs) count(doc bson.Raw) {
	if !s.on {
		return
	}
	id := doc.Get("_id")
	if !s.last.IsMissing() && bson.Equal(id, s.last, nil) {
		s.n++
		return
	}
	s.last = id.Clone()
}

// ownOf returns the properties of a collection that mongodump leaves out, read from a Cantle server or a Cosmos DB
// account: its shard key, its throughput as arguments of the extension commands, shared (that of its database), and
// the indexes by which documents expire after their last write. Where config.collections is missing, so is the key.
func (a *dumping) ownOf(ctx context.Context, d *dumps.Collection, indexes []bson.Raw, shared bson.Raw) bson.Raw {
	var own bson.D
	find := bson.D{{"find", "collections"}, {"filter", bson.D{{"_id", d.NS()}}}}.Doc()
	if entries, err := a.all(ctx, "config", find); err == nil && len(entries) == 1 {
		if key := entries[0].Get("key"); !key.IsMissing() {
			own = bson.D{{"shardKey", key}, {"unique", entries[0].Get("unique").Truthy()}}
		}
	}
	if d.Kind == "view" {
		return own.Doc()
	}
	if !shared.IsEmpty() {
		own = append(own, bson.E{"sharedThroughput", shared})
	}
	is, err := a.run(ctx, d.DB, bson.D{{"customAction", "GetCollection"}, {"collection", d.Coll}, {"showIndexes", true}}.Doc())
	if err == nil {
		if offer := offerIn(is); !offer.IsEmpty() {
			own = append(own, bson.E{"throughput", offer})
		}
	}
	if err == nil || a.account {
		own = append(own, a.expiry(is, indexes)...)
	}
	return own.Doc()
}

// shared returns the throughput that the collections of a database share, as arguments of the extension command
// CreateDatabase; empty for none, or if it cannot be read.
func (t *transfer) shared(ctx context.Context, db string) bson.Raw {
	is, err := t.run(ctx, db, bson.D{{"customAction", "GetDatabase"}}.Doc())
	if err != nil || is.Get("provisionedThroughput").IsMissing() {
		return bson.Empty
	}
	return offerIn(is)
}

// offerIn returns the throughput in a reply of GetCollection or GetDatabase, as arguments of the extension commands
// that set it.
func offerIn(is bson.Raw) bson.Raw {
	var offer bson.D
	for _, name := range []string{"autoScaleSettings", "serverless", "serverSideRetry", "burst", "ruPerMinute"} {
		offer = append(offer, bson.E{name, is.Get(name)})
	}
	if is.Get("autoScaleSettings").IsMissing() {
		offer = append(offer, bson.E{"offerThroughput", is.Get("provisionedThroughput")})
	}
	return offer.Doc()
}

// expiry returns an element for the dump that lists, of the indexes {_ts: 1}, those by which documents expire after
// their last write, each with the number of seconds. It returns nil if the collection has no index {_ts: 1} that
// expires documents. Indexes of MongoDB expire by a date in the field instead.
func (a *dumping) expiry(is bson.Raw, indexes []bson.Raw) bson.D {
	indexes = slices.DeleteFunc(slices.Clone(indexes), func(x bson.Raw) bool { return !index.ExpiresByTS(x) })
	if len(indexes) == 0 {
		return nil
	}
	shown := map[string]bson.Raw{}
	list, _ := is.Get("indexes").Array()
	for v := range list.Values() {
		x, _ := v.Doc()
		name, _ := x.Get("name").Str()
		shown[name] = x
	}
	byLastWrite := bson.D{}
	for _, x := range indexes {
		name, _ := x.Get("name").Str()
		if kept, ok := shown[name]; ok {
			x = kept
		}
		if seconds, ok := x.Get("expireAfterSeconds").AsInt64(); ok && (a.account || x.Get(index.LastWriteOption).Truthy()) {
			byLastWrite = append(byLastWrite, bson.E{name, seconds})
		}
	}
	return bson.D{{index.LastWriteOption, byLastWrite}}
}

// metadata returns the metadata text of a collection: options and indexes as mongodump prints them, and, unless the
// dump is for MongoDB (--for), under "cantle" the properties of ownOf.
func (a *dumping) metadata(ctx context.Context, d *dumps.Collection, info, shared bson.Raw) (string, error) {
	options, _ := info.Get("options").Doc()
	if options == nil {
		options = bson.Empty
	}
	var indexes []bson.Raw
	if d.Kind != "view" {
		var err error
		if indexes, err = a.all(ctx, d.DB, bson.D{{"listIndexes", d.Coll}}.Doc()); err != nil {
			return "", err
		}
	}
	own := a.ownOf(ctx, d, indexes, shared)
	listed := bson.A{}
	for _, x := range indexes {
		if x = a.restorable(d, x, own); x != nil {
			listed = append(listed, x)
		}
	}
	out := bson.D{{"options", options}, {"indexes", listed}}
	detail, _ := info.Get("info").Doc()
	if _, id, ok := detail.Get("uuid").Binary(); ok {
		out = append(out, bson.E{"uuid", fmt.Sprintf("%x", id)})
	}
	out = append(out, bson.D{{"collectionName", d.Coll}, {"type", d.Kind}}...)
	if a.target != "" {
		a.recordOmittedOwn(d, own)
	} else if !own.IsEmpty() {
		out = append(out, bson.E{"cantle", own})
	}
	return ejson.Canonical(out.Doc()), nil
}

// restorable returns the specification of an index as the target of the dump (--for) can restore it, nil if the
// target has no such index. own has the properties of ownOf.
func (a *dumping) restorable(d *dumps.Collection, x, own bson.Raw) bson.Raw {
	if a.target == "" {
		return x
	}
	name, _ := x.Get("name").Str()
	kept, _ := own.Get(index.LastWriteOption).Doc()
	seconds, lastWrite := kept.Get(name).AsInt64()
	if lastWrite {
		x = account.ByLastWrite(x, seconds)
	}
	x, left := account.ForMongoDB(x, lastWrite)
	if left != "" {
		a.recordOmitted(d.NS(), left)
	}
	return x
}

// recordOmittedOwn records the properties of ownOf that the dump leaves out.
func (a *dumping) recordOmittedOwn(d *dumps.Collection, own bson.Raw) {
	if key, ok := own.Get("shardKey").Doc(); ok {
		a.recordOmitted(d.NS(), account.KeyForMongoDB(d.NS(), key))
	}
	if offer, ok := own.Get("throughput").Doc(); ok {
		a.recordOmitted(d.NS(), "the throughput "+ejson.String(offer))
	}
}

// have returns the verb of a sentence about n documents.
func have(n int64) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
