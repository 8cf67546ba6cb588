package differential

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// way is one way in which the documents of a set can be stored: options, shard key, indexes, server.
type way struct {
	name string
	// options are further fields of the create command; if nil, the first insert creates the collection.
	options bson.D
	// shard is the shard key, and shards the number of partitions; nil means unsharded. A ranged key is split at each
	// value.
	shard  bson.D
	shards int
	// indexed ways have random indexes.
	indexed bool
	// tight means that the way uses a server that spills at once, and parks each cursor after each batch.
	tight bool
	// inTransaction means that half of the documents are inserted in a transaction that is not committed, and that
	// all queries are sent in it.
	inTransaction bool
	// view ways answer through a view of the collection.
	view bool
	// series means that the documents are in a time-series collection. A set in which a document has no date cannot
	// be stored so. Manual: core/timeseries-collections
	series bool
	// reads means that no writes are sent to this way, because the server refuses some of them there.
	reads bool
	// hasCollation ways have a default collation, which questions leave out.
	hasCollation bool
	// place selects the servers, "" for those in memory. alone means that the way has a server on files for itself.
	place where
	alone bool
	// moves means that partitions are split, merged and moved between batches and before queries, and resharded before
	// queries.
	moves bool
	// then runs after the documents and the indexes are made.
	then func(k *populatedWay) error
	// every is the share of sets of documents that are stored in this way: one in so many; 0 means all sets.
	every uint64
	// supports reports whether a query can be sent to this way; nil means every query.
	supports func(q *question) bool
}

// ways lists all ways of storage. The first is a collection without random indexes, which is scanned; all others must
// return its answers.
var ways = []*way{
	{name: "scan"},
	{name: "indexed", indexed: true},
	{name: "indexed again", indexed: true},
	{name: "indexed once more", indexed: true},
	{name: "clustered", options: bson.D{{Key: "clusteredIndex", Value: bson.D{{Key: "key", Value: one("_id", int32(1))}, {Key: "unique", Value: true}}}}, indexed: true},
	{name: "capped", options: bson.D{{Key: "capped", Value: true}, {Key: "size", Value: int32(16 << 20)}}, indexed: true, reads: true},
	{name: "time series", options: timeSeries(), indexed: true, series: true, reads: true, supports: noIndexNeeded},
	{name: "time series of s", options: timeSeries(bson.E{Key: "metaField", Value: "s"}), indexed: true, series: true, reads: true, supports: noIndexNeeded},
	{name: "time series, files", options: timeSeries(bson.E{Key: "metaField", Value: "s"}), indexed: true, series: true, reads: true, supports: noIndexNeeded, place: onFiles, every: 3},
	{name: "time series, cluster", options: timeSeries(), series: true, reads: true, supports: noIndexNeeded, place: onCluster, every: 8},
	{name: "sharded by _id", shard: one("_id", "hashed"), shards: 5, indexed: true},
	{name: "sharded by k", shard: one("k", "hashed"), shards: 3, indexed: true},
	{name: "ranges of k", shard: one("k", int32(1)), indexed: true},
	{name: "collation of its own", options: one("collation", ownCollation), indexed: true, reads: true, hasCollation: true, supports: func(q *question) bool { return js(q.collation) == js(ownCollation) && !q.needs }},
	{name: "view", indexed: true, view: true, reads: true, supports: func(q *question) bool {
		return !q.needs && q.collation == nil && !(q.kind == "find" && hasOperator(q.projection))
	}},
	{name: "transaction", indexed: true, inTransaction: true, supports: func(q *question) bool { return q.kind != "count" && !q.unites() }},
	{name: "transaction, sharded", shard: one("_id", "hashed"), shards: 4, inTransaction: true, supports: func(q *question) bool { return q.kind != "count" && q.kind != "distinct" && !q.unites() }},
	{name: "spilled", tight: true},
	{name: "spilled, sharded", tight: true, indexed: true, shard: one("_id", "hashed"), shards: 3},
	{name: "moving", indexed: true, shard: one("_id", "hashed"), shards: 3, moves: true, every: 3},
	{name: "past", indexed: true, reads: true, then: passed, every: 3, supports: noCount},
	{name: "past, sharded", indexed: true, reads: true, shard: one("_id", "hashed"), shards: 3, then: passed, every: 3, supports: noCount},
	{name: "files", indexed: true, place: onFiles, every: 3},
	{name: "files, moving", indexed: true, shard: one("k", int32(1)), shards: 2, moves: true, place: onFiles, every: 3},
	{name: "cluster", indexed: true, place: onCluster, every: 16},
	{name: "servers", indexed: true, shard: one("_id", "hashed"), shards: 3, moves: true, place: onServers, every: 16},
	{name: "restarted", indexed: true, alone: true, then: restart, every: 24},
	{name: "restored", indexed: true, shard: one("_id", "hashed"), shards: 3, alone: true, then: restored, every: 24},
}

// The places of servers.
type where string

const (
	onFiles   where = "files"
	onCluster where = "a simulated TiKV cluster"
	onServers where = "three servers over such a cluster"
)

// noCount reports whether the command of a query supports the read concern snapshot.
func noCount(q *question) bool { return q.kind != "count" && q.kind != "distinct" }

// noIndexNeeded reports whether a query can run without an index; time-series collections do not support the indexes
// that some need. Manual: core/timeseries/timeseries-limitations
func noIndexNeeded(q *question) bool { return !q.needs }

// timeSeries are the options of a time-series collection.
func timeSeries(more ...bson.E) bson.D {
	return one("timeseries", append(one("timeField", "at"), more...))
}

// in reports whether a set is stored in this way; different ways store different sets. In a canary, no way uses the
// simulated cluster, because its server would have to be built with the planted bug too.
func (w *way) in(s *set) bool {
	if w.series && !s.dated {
		return false
	}
	if (w.place == onCluster || w.place == onServers) && os.Getenv(harness.Planted) != "" {
		return false
	}
	return w.every == 0 || (s.seed+uint64(len(w.name)))%w.every == 0
}

// ownCollation is the default collation of ways with hasCollation.
var ownCollation = bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: int32(2)}}

// hasOperator reports whether a projection selects elements of arrays ($slice, $elemMatch, a.$), which a find on a
// view refuses.
func hasOperator(projection bson.D) bool {
	return slices.ContainsFunc(projection, func(e bson.E) bool {
		d, ok := e.Value.(bson.D)
		return strings.HasSuffix(e.Key, ".$") || ok && (d[0].Key == "$slice" || d[0].Key == "$elemMatch")
	})
}

// unites reports whether the pipeline of a query has a stage that is not allowed in transactions. Manual:
// core/transactions-operations
func (q *question) unites() bool { return strings.Contains(js(q.pipeline), "$unionWith") }

// set is a set of documents that are stored in all ways for which way.in returns true, in a database of the set.
type set struct {
	seed    uint64
	db      string
	normal  *conn
	tight   *conn
	docs    []bson.D
	foreign []bson.D
	dated   bool // every document has a date
	needs   bool // every way but time series has the indexes that $text and $near need
	places  *places
	scratch func() string // returns a folder for servers of a single way
}

// populatedWay is a way with the documents stored in it.
type populatedWay struct {
	*way
	set           *set
	conn          *conn
	coll          string // the collection of questions
	foreign       string
	indexes       []index
	session       bson.D  // of the transaction
	concern       bson.D  // the read concern
	serverConns   []*conn // connections of this way alone, one to each server of its place
	questionCount int
	server        *harness.Server // for this way alone, with its data in a folder
	data          string
	rng           *rand.Rand // draws the moves of partitions
	out           bool       // excluded after an error that only this way may return
	asked         []*question
}

// needed are the indexes for $text and $near.
var needed = []index{
	{{Key: "key", Value: one("t", "text")}, {Key: "name", Value: "t"}},
	{{Key: "key", Value: one("g", "2dsphere")}, {Key: "name", Value: "g"}},
	{{Key: "key", Value: one("p", "2d")}, {Key: "name", Value: "p"}},
}

// refusesDocuments lists the error codes of creating an index that cannot contain some document, or that exists
// already.
var refusesDocuments = []int32{2, 67, 85, 86, 171, 16755, 16766, 13067, 16804, 11000, 17261, 17280, 16770, 17253, 5429513, 31253, 13026, 197, 13268, 13654, 16746}

// refusesSeries lists the error codes of creating an index that a time-series collection does not support.
var refusesSeries = []int32{72, 7246201}

// populate stores the documents of a set in one way, and creates the indexes if the way is indexed. Indexes that the
// server refuses with a code of refusesDocuments or, for a time series, of refusesSeries are left out. Errors: errors
// of starting servers, of the connection, and of commands that should not fail.
func (s *set) populate(w *way, at int, indexes []index) (*populatedWay, error) {
	k := &populatedWay{way: w, set: s, coll: fmt.Sprintf("c%d", at), foreign: fmt.Sprintf("f%d", at)}
	if err := k.settle(); err != nil {
		k.close()
		return nil, err
	}
	if err := k.fill(indexes); err != nil {
		k.close()
		return nil, err
	}
	if w.then != nil {
		if err := w.then(k); err != nil {
			k.close()
			return nil, err
		}
	}
	return k, nil
}

// fill creates the collections, the documents and the indexes.
func (k *populatedWay) fill(indexes []index) error {
	w, s := k.way, k.set
	if err := k.create(k.coll); err != nil {
		return err
	}
	if err := k.create(k.foreign); err != nil {
		return err
	}
	if err := k.insert(k.foreign, s.foreign, nil); err != nil {
		return err
	}
	half := len(s.docs)
	if w.inTransaction {
		half /= 2
	}
	if err := k.insert(k.coll, s.docs[:half], nil); err != nil {
		return err
	}
	if s.needs && !w.series {
		if err := k.index(needed); err != nil {
			return err
		}
	}
	if w.indexed {
		if err := k.index(indexes); err != nil {
			return err
		}
	}
	if w.indexed && !w.reads && s.seed%2 == 0 && half == len(s.docs) { // then writes create the index entries
		if _, err := k.conn.must(s.db, bson.D{{Key: "delete", Value: k.coll}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: bson.D{}}, {Key: "limit", Value: 0}}}}}); err != nil {
			return err
		}
		if err := k.insert(k.coll, s.docs, nil); err != nil {
			return err
		}
	}
	if w.inTransaction {
		return k.begin(half)
	}
	if w.view {
		view := bson.D{{Key: "create", Value: "v"}, {Key: "viewOn", Value: k.coll}, {Key: "pipeline", Value: bson.A{}}}
		k.coll = "v"
		_, err := k.conn.must(s.db, view)
		return err
	}
	return nil
}

// create makes a collection of the way.
func (k *populatedWay) create(coll string) error {
	if k.options != nil {
		if _, err := k.conn.must(k.set.db, append(bson.D{{Key: "create", Value: coll}}, k.options...)); err != nil {
			return err
		}
	}
	if k.shard == nil {
		return nil
	}
	ns := k.set.db + "." + coll
	command := bson.D{{Key: "shardCollection", Value: ns}, {Key: "key", Value: k.shard}}
	if k.shards > 0 {
		command = append(command, bson.E{Key: "numInitialChunks", Value: k.shards})
	}
	if _, err := k.conn.must("admin", command); err != nil || k.shards > 0 {
		return err
	}
	for at := range int32(keys - 1) {
		if _, err := k.conn.must("admin", bson.D{{Key: "split", Value: ns}, {Key: "middle", Value: bson.D{{Key: k.shard[0].Key, Value: at + 1}}}}); err != nil {
			return err
		}
	}
	return nil
}

// insert puts documents into a collection.
func (k *populatedWay) insert(coll string, docs []bson.D, session bson.D) error {
	for part := range slices.Chunk(docs, 200) {
		list := bson.A{}
		for _, d := range part {
			list = append(list, d)
		}
		if _, err := k.conn.must(k.set.db, append(bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: list}}, session...)); err != nil {
			return err
		}
	}
	return nil
}

// index creates the indexes that the documents allow.
func (k *populatedWay) index(indexes []index) error {
	for _, x := range indexes {
		a, err := k.conn.run(k.set.db, bson.D{{Key: "createIndexes", Value: k.coll}, {Key: "indexes", Value: bson.A{bson.D(x)}}})
		switch {
		case err != nil:
			return err
		case a.code == 0:
			k.indexes = append(k.indexes, x)
		case !slices.Contains(refusesDocuments, a.code) && !(k.series && slices.Contains(refusesSeries, a.code)):
			return fmt.Errorf("index %s: error %d: %s", js(bson.D(x)), a.code, a.message)
		}
	}
	return nil
}

// begin starts the transaction of a way, and inserts in it the documents from the index half on. If an index refuses
// one of them, the transaction has ended: begin then drops the last index and tries again.
func (k *populatedWay) begin(half int) error {
	for {
		k.session = bson.D{{Key: "lsid", Value: one("id", k.conn.newSession())}, {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}}
		list := bson.A{}
		for _, i := range rand.New(rand.NewPCG(k.set.seed, 5)).Perm(len(k.set.docs) - half) { // not in the order of their keys
			list = append(list, k.set.docs[half+i])
		}
		if len(list) == 0 { // then the transaction begins with a read
			a, err := k.conn.run(k.set.db, append(bson.D{{Key: "find", Value: k.coll}, {Key: "startTransaction", Value: true}}, k.session...))
			if err == nil && a.code != 0 {
				err = fmt.Errorf("error %d: %s", a.code, a.message)
			}
			return err
		}
		a, err := k.conn.run(k.set.db, append(bson.D{{Key: "insert", Value: k.coll}, {Key: "documents", Value: list}, {Key: "startTransaction", Value: true}}, k.session...))
		if err != nil || a.code == 0 {
			return err
		}
		if len(k.indexes) == 0 {
			return fmt.Errorf("insert in a transaction: error %d: %s", a.code, a.message)
		}
		last := k.indexes[len(k.indexes)-1]
		k.indexes = k.indexes[:len(k.indexes)-1]
		if _, err := k.conn.must(k.set.db, bson.D{{Key: "dropIndexes", Value: k.coll}, {Key: "index", Value: last.name()}}); err != nil {
			return err
		}
	}
}

// again runs the transaction of a way again, after an error has ended it.
func (k *populatedWay) again() error {
	if !k.inTransaction {
		return nil
	}
	_, _ = k.conn.run("admin", append(bson.D{{Key: "abortTransaction", Value: 1}}, k.session...))
	return k.begin(len(k.set.docs) / 2)
}

// close ends the transaction of a way, and closes its connections and its own server.
func (k *populatedWay) close() {
	if k.inTransaction {
		_, _ = k.conn.run("admin", append(bson.D{{Key: "abortTransaction", Value: 1}}, k.session...))
	}
	for i, c := range k.serverConns {
		if i == 0 && k.server == nil {
			_, _ = c.run(k.set.db, bson.D{{Key: "dropDatabase", Value: 1}})
		}
		_ = c.Close()
	}
	if k.server != nil {
		k.server.Kill()
		_ = os.RemoveAll(k.data)
	}
}
