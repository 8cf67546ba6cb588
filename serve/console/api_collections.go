package console

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
)

const (
	collectionsMax = 5000 // in the list
	measuredMax    = 500  // the number of collections, the largest ones, whose sizes on disk are measured
)

// collectionInfo is a collection in the list of all.
type collectionInfo struct {
	NS         string          `json:"ns"`
	DB         string          `json:"db"`
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`                // collection, view or timeseries
	Key        json.RawMessage `json:"key,omitempty"`       // the shard key
	Partitions int             `json:"partitions"`          // 0 for a view
	Mode       string          `json:"mode"`                // manual, autoscale, serverless, shared or none
	RU         int64           `json:"ru"`                  // provisioned
	Indexes    int             `json:"indexes"`             // besides _id_
	Documents  *int64          `json:"documents,omitempty"` // missing if the user may not see statistics
	Bytes      *int64          `json:"bytes,omitempty"`
	// DiskBytes are the bytes that the documents take on disk, IndexDiskBytes those of the indexes. Both are missing for
	// views, beyond the measuredMax largest collections of a list, if the user may not see statistics, and if the store
	// has no files on this machine.
	DiskBytes      *uint64 `json:"diskBytes,omitempty"`
	IndexDiskBytes *uint64 `json:"indexDiskBytes,omitempty"`
}

// size returns the bytes of the collection's documents, 0 for a view or if the user may not see statistics. It
// decides which collections of a list are measured on disk.
func (l *collectionInfo) size() int64 {
	if l.Bytes == nil {
		return 0
	}
	return *l.Bytes
}

// collections returns the collections that listCollections shows to the user in each database, at most collectionsMax,
// ordered by name, each with its partitions, throughput and sizes. Only the measuredMax largest have sizes on disk.
func collections(q *query) (any, error) {
	reply, err := q.runCommand("admin", bson.D{{"listDatabases", 1}, {"nameOnly", true}, {"authorizedDatabases", true}})
	if err != nil {
		return nil, err
	}
	out := []collectionInfo{}
	list, _ := reply.Get("databases").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		db, _ := d.Get("name").Str()
		names, err := q.runCommand(db, bson.D{{"listCollections", 1}, {"nameOnly", true}, {"authorizedCollections", true},
			{"cursor", bson.D{{"batchSize", collectionsMax}}}})
		if err != nil {
			continue // dropped meanwhile, or hidden from this user
		}
		cursor, _ := names.Get("cursor").Doc()
		batch, _ := cursor.Get("firstBatch").Array()
		for v := range batch.Values() {
			d, _ := v.Doc()
			name, _ := d.Get("name").Str()
			kind, _ := d.Get("type").Str()
			if len(out) < collectionsMax {
				out = append(out, q.describe(collection.Namespace{DB: db, Coll: name}, kind))
			}
		}
	}
	slices.SortFunc(out, func(a, b collectionInfo) int { return cmp.Compare(b.size(), a.size()) })
	for i := range out[:min(len(out), measuredMax)] {
		q.measure(&out[i])
	}
	slices.SortFunc(out, func(a, b collectionInfo) int { return strings.Compare(a.NS, b.NS) })
	return struct {
		Collections []collectionInfo `json:"collections"`
	}{out}, nil
}

// describe returns the catalog's data of a collection.
func (q *query) describe(ns collection.Namespace, kind string) collectionInfo {
	l := collectionInfo{NS: ns.String(), DB: ns.DB, Name: ns.Coll, Kind: kind, Mode: "none"}
	cl := q.Server.Cluster
	coll := cl.Catalog().Collection(ns)
	if coll == nil || coll.IsView() || coll.Map == nil {
		return l
	}
	if coll.Sharded() {
		l.Key = json.RawMessage(ejson.String(coll.Key.Spec()))
	}
	l.Partitions, l.Indexes = coll.Map.Len(), len(coll.UnstagedIndexes())-1
	if coll.Throughput.Mode != "" {
		l.Mode, l.RU = string(coll.Throughput.Mode), coll.Throughput.RU
	} else if cl.Budgets.Collection(uint64(coll.ID)).Shared() {
		l.Mode = "shared"
	}
	if q.mayNamespace(ns) == nil {
		n := cl.Counts(coll.ID).Total(coll.Map)
		l.Documents, l.Bytes = &n.Docs, &n.Bytes
	}
	return l
}

// measure sets the sizes on disk of a collection in l, and returns the bytes of each of its indexes by name. It
// returns nil, and sets nothing, for a view or a dropped collection, if the user may not see statistics, or if the
// store cannot measure.
func (q *query) measure(l *collectionInfo) map[string]uint64 {
	coll := q.Server.Cluster.Catalog().Collection(collection.Namespace{DB: l.DB, Coll: l.Name})
	if coll == nil || l.Bytes == nil {
		return nil
	}
	z, ok := q.Server.Cluster.DiskSizes(q.Context(), coll)
	if !ok {
		return nil
	}
	indexes, sum := map[string]uint64{}, uint64(0)
	for _, ix := range z.Indexes {
		indexes[ix.Name] = ix.Bytes
		sum += ix.Bytes
	}
	l.DiskBytes, l.IndexDiskBytes = &z.Documents, &sum
	return indexes
}

// collectionReply describes one collection.
type collectionReply struct {
	collectionInfo
	// IndexDisk has the bytes that each index takes on disk, by the index's name. The _id_ index is missing if the
	// documents themselves are stored in the order of _id.
	IndexDisk  map[string]uint64 `json:"indexDisk,omitempty"`
	Options    json.RawMessage   `json:"options"`
	Indexes    json.RawMessage   `json:"indexDetails"`
	Uses       json.RawMessage   `json:"uses"`       // of each index since the start
	Statistics json.RawMessage   `json:"statistics"` // null if the user may not see them
}

// oneCollection returns all data of one collection.
func oneCollection(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	indexes, err := q.runCommand(ns.DB, bson.D{{"listIndexes", ns.Coll}})
	if err != nil {
		return nil, err
	}
	out := collectionReply{collectionInfo: q.describe(ns, "collection"), Indexes: batchOf(indexes), Options: json.RawMessage("null"), Statistics: json.RawMessage("null"), Uses: json.RawMessage("[]")}
	out.IndexDisk = q.measure(&out.collectionInfo)
	if reply, err := q.runCommand(ns.DB, bson.D{{"listCollections", 1}, {"filter", bson.D{{"name", ns.Coll}}}}); err == nil {
		out.Options = batchOf(reply)
	}
	for _, x := range []struct {
		to    *json.RawMessage
		stage bson.D
	}{
		{&out.Uses, bson.D{{"$indexStats", bson.D{}}}},
		{&out.Statistics, bson.D{{"$collStats", bson.D{{"storageStats", bson.D{}}}}}},
	} {
		reply, err := q.aggregate(ns, x.stage)
		if err == nil {
			*x.to = batchOf(reply)
		}
	}
	return out, nil
}

// aggregate runs a pipeline of one stage.
func (q *query) aggregate(ns collection.Namespace, stage bson.D) (bson.Raw, error) {
	of := bson.E{"aggregate", ns.Coll}
	if ns.Coll == "" {
		of[1] = 1
	}
	return q.runCommand(ns.DB, bson.D{of, {"pipeline", bson.A{stage}}, {"cursor", bson.D{{"batchSize", 1000}}}})
}

// batchOf returns the first batch of a reply as JSON.
func batchOf(reply bson.Raw) json.RawMessage {
	cursor, _ := reply.Get("cursor").Doc()
	list, _ := cursor.Get("firstBatch").Array()
	return listOf(list)
}

// listOf returns a list of documents as JSON.
func listOf(list bson.Raw) json.RawMessage {
	out := []json.RawMessage{}
	for v := range list.Values() {
		d, _ := v.Doc()
		out = append(out, json.RawMessage(ejson.String(d)))
	}
	text, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("[]")
	}
	return text
}

// createIndex makes an index.
func createIndex(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	key, err := q.document("key")
	if err != nil {
		return nil, err
	}
	options, err := q.document("options")
	if err != nil {
		return nil, err
	}
	index := bson.D{{"key", key}}
	if !options.Has("name") {
		index = append(index, bson.E{"name", indexName(key)})
	}
	reply, err := q.runCommand(ns.DB, bson.D{{"createIndexes", ns.Coll}, {"indexes", bson.A{append(index, options.D()...)}}})
	if err != nil {
		return nil, err
	}
	return raw(reply), nil
}

// indexName returns the default name of an index: a_1_b_-1.
func indexName(key bson.Raw) string {
	var parts []string
	for name, v := range key.Fields() {
		text, isText := v.Str()
		if !isText {
			text = v.String()
		}
		parts = append(parts, string(name)+"_"+text)
	}
	return strings.Join(parts, "_")
}
