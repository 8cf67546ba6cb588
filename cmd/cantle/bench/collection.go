package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// ErrHasDocuments: the collection has documents, and --append was not given.
var ErrHasDocuments = errors.New("the collection has documents; choose another one with --collection, or add to it with --append")

// inspect finds out whether the server is Cantle, which prices commands, and whether the collection exists.
// Errors: ErrHasDocuments; errors of the server.
func (b *Bench) inspect(ctx context.Context) (exists bool, err error) {
	info, err := b.Run(ctx, "admin", bson.D{{"buildInfo", 1}}.Doc())
	if err != nil {
		return false, err
	}
	b.commands.charged = info.Has("cantle")
	listed, err := b.Run(ctx, b.db, bson.D{{"listCollections", 1}, {"filter", bson.D{{"name", b.commands.coll}}}, {"nameOnly", true}}.Doc())
	if err != nil {
		return false, err
	}
	if _, exists = remote.First(listed); !exists || b.options.Append {
		return exists, nil
	}
	found, err := b.Run(ctx, b.db, bson.D{{"find", b.commands.coll}, {"limit", 1}, {"singleBatch", true}}.Doc())
	if err != nil {
		return true, err
	}
	if _, some := remote.First(found); some {
		return true, fmt.Errorf("%s: %w", b.options.Namespace, ErrHasDocuments)
	}
	return true, nil
}

// create creates the collection, sharded by the key of the mix where the server shards: by customAction if it gets a
// throughput, which Cantle and Azure Cosmos DB have. A mongod does not shard.
// Errors: errors of the server.
func (b *Bench) create(ctx context.Context) error {
	m := b.commands.model
	var err error
	if b.options.Throughput > 0 {
		_, err = b.Run(ctx, b.db, bson.D{{"customAction", "CreateCollection"}, {"collection", b.commands.coll}, {"shardKey", m.shardKey}, {"offerThroughput", b.options.Throughput}}.Doc())
		if remote.Code(err) == remote.CommandNotFound {
			return errors.New("the server has no throughput in RU/s: --throughput is for Cantle and Azure Cosmos DB")
		}
	} else {
		_, err = b.Run(ctx, "admin", bson.D{{"shardCollection", b.options.Namespace}, {"key", bson.D{{m.shardKey, "hashed"}}}}.Doc())
		if remote.Code(err) == remote.CommandNotFound {
			_, err = b.Run(ctx, b.db, bson.D{{"create", b.commands.coll}}.Doc())
		}
	}
	if err != nil || m.values == 0 {
		return err
	}
	key := bson.D{{m.shardKey, 1}, {"at", -1}}
	_, err = b.Run(ctx, b.db, bson.D{{"createIndexes", b.commands.coll}, {"indexes", bson.A{bson.D{{"key", key}, {"name", m.shardKey + "_1_at_-1"}}}}}.Doc())
	return err
}

// batchBytes and batchDocuments bound a batch of documents that are loaded.
const (
	batchBytes     = 256 << 10
	batchDocuments = 200
)

// loadPatience is the time for which loading repeats a throttled batch.
const loadPatience = 5 * time.Minute

// load inserts the documents that the operations choose from. Documents that are there (--append) stay.
// Errors: errors of the server; throttling that lasts longer than loadPatience.
func (b *Bench) load(ctx context.Context) error {
	r := b.random(0)
	for n := int64(0); n < b.options.Documents; {
		var docs []bson.Raw
		for size := 0; n < b.options.Documents && len(docs) < batchDocuments && size < batchBytes; n++ {
			docs = append(docs, b.commands.document(n, r))
			size += len(docs[len(docs)-1])
		}
		if err := b.loadBatch(ctx, docs); err != nil {
			return fmt.Errorf("loading documents: %w", err)
		}
	}
	return nil
}

// loadBatch inserts documents, and repeats that while some of them are throttled.
func (b *Bench) loadBatch(ctx context.Context, docs []bson.Raw) error {
	for begun, attempt := time.Now(), 0; ; attempt++ {
		reply, err := b.Run(ctx, b.db, b.commands.insert(docs...))
		if reply.Has("writeErrors") {
			err = worstWriteError(reply)
		}
		b.addLoaded(reply)
		if !remote.Throttled(err) {
			return err
		}
		if time.Since(begun) > loadPatience {
			return err
		}
		if err := remote.Pause(ctx, pause(err, attempt)); err != nil {
			return err
		}
	}
}

// addLoaded adds the charge of a reply to that of loading.
func (b *Bench) addLoaded(reply bson.Raw) {
	if ru, ok := reply.Get("requestCharge").AsFloat(); ok {
		b.loadedRU += ru
	}
}

// worstWriteError returns the write error of a batch that decides how to continue: none if the documents are there
// already, one of throttling if there is one and no worse.
func worstWriteError(reply bson.Raw) (worst error) {
	list, _ := reply.Get("writeErrors").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		code, _ := d.Get("code").AsInt64()
		text, _ := d.Get("errmsg").Str()
		switch {
		case code == remote.DuplicateKey:
		case code == remote.RequestThrottled:
			worst = &remote.Error{Code: int32(code), Message: text}
		default:
			return &remote.Error{Code: int32(code), Message: text}
		}
	}
	return worst
}

// pause returns the time to wait before a throttled request is sent again: the one that the server names, or an
// exponential one of 5 ms to about a second.
func pause(err error, attempt int) time.Duration {
	if after, ok := remote.RetryAfter(err.Error()); ok && after > 0 {
		return after
	}
	return 5 * time.Millisecond << min(attempt, 8)
}

// runName returns a suffix for the documents that one run inserts.
func runName(at time.Time) string {
	return fmt.Sprintf("-%x", at.UnixNano())
}
