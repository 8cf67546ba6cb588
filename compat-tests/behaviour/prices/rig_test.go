package prices

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/ejson"
)

// rig is an empty database in which the operation of one published charge runs, on a server that adds charges to
// replies.
type rig struct {
	db  *mongo.Database
	err error // the first one
}

// run runs a command and returns its charge.
func (r *rig) run(command string) float64 {
	if r.err != nil {
		return 0
	}
	doc, err := ejson.Parse(command)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", command, err)
		return 0
	}
	db := r.db
	if strings.HasPrefix(command, "{shardCollection") {
		db = r.db.Client().Database("admin")
	}
	var reply struct {
		Charge float64 `bson:"requestCharge"`
		Cursor struct {
			ID int64 `bson:"id"`
		} `bson:"cursor"`
		WriteErrors bson.A `bson:"writeErrors"`
	}
	if err := db.RunCommand(context.Background(), []byte(doc)).Decode(&reply); err != nil {
		r.err = fmt.Errorf("%.200s: %w", command, err)
	} else if reply.Cursor.ID != 0 || len(reply.WriteErrors) > 0 {
		r.err = fmt.Errorf("%.200s: there is more to come, or it failed: %v", command, reply.WriteErrors)
	}
	return reply.Charge
}

func (r *rig) index(keys ...string) {
	for i, k := range keys {
		r.run(fmt.Sprintf(`{createIndexes: "c", indexes: [{key: %s, name: "i%d"}]}`, k, i))
	}
}

// text returns a text with a length in bytes.
func text(bytes int) string { return strings.Repeat("x", bytes) }

// document returns a document, as text, with the given _id and fields and a size in bytes, which a padding fills.
func document(id, bytes int, fields string) string {
	if fields != "" {
		fields = ", " + fields
	}
	with := func(pad int) string { return fmt.Sprintf(`{_id: %d%s, pad: "%s"}`, id, fields, text(pad)) }
	doc, err := ejson.Parse(with(0))
	if err != nil {
		panic(err)
	}
	return with(max(0, bytes-len(doc)))
}

// insert inserts documents, a thousand with each command, and returns the sum of the charges in RU.
func (r *rig) insert(docs []string) (sum float64) {
	for len(docs) > 0 {
		n := min(1000, len(docs))
		sum += r.run(`{insert: "c", documents: [` + strings.Join(docs[:n], ",") + `]}`)
		docs = docs[n:]
	}
	return sum
}

// fill inserts n documents of a size in bytes. In fields, %d is replaced by the number of the document.
func (r *rig) fill(n, bytes int, fields string) {
	var docs []string
	for i := range n {
		docs = append(docs, document(i, bytes, fmt.Sprintf(fields, i)))
	}
	r.insert(docs)
}

// one inserts one document without secondary indexes.
func (r *rig) one(bytes int) float64 { return r.insert([]string{document(1, bytes, `k: 1`)}) }

// indexed returns the charge of inserting one document with the given fields, all of them in a wildcard index.
func (r *rig) indexed(fields string) float64 {
	r.index(`{"$**": 1}`)
	return r.run(`{insert: "c", documents: [{_id: 1, ` + fields + `}]}`)
}

func (r *rig) find(filter string, more ...string) float64 {
	more = append(more, `batchSize: 2000`)
	return r.run(`{find: "c", filter: {` + filter + `}, ` + strings.Join(more, ", ") + `}`)
}

func (r *rig) aggregate(stages string) float64 {
	return r.run(`{aggregate: "c", pipeline: [` + stages + `], cursor: {}}`)
}

func (r *rig) delete(filter string, limit int) float64 {
	return r.run(fmt.Sprintf(`{delete: "c", deletes: [{q: {%s}, limit: %d}]}`, filter, limit))
}

func (r *rig) update(filter, set string) float64 {
	return r.run(`{update: "c", updates: [{q: {` + filter + `}, u: {$set: {` + set + `}}}]}`)
}

// matching finds n documents by an index, among others.
func (r *rig) matching(n, bytes int) float64 {
	r.index(`{k: 1}`)
	var docs []string
	for i := range n + 50 {
		docs = append(docs, document(i, bytes, fmt.Sprintf(`k: %d`, i/n)))
	}
	r.insert(docs)
	return r.find(`k: 0`)
}

// newest returns the charge of a find that reads n of 2n documents in the order of an index.
func (r *rig) newest(n, bytes int) float64 {
	r.index(`{at: 1}`)
	r.fill(2*n, bytes, `at: %d`)
	return r.find(``, `sort: {at: -1}`, fmt.Sprintf(`limit: %d`, n))
}

// fanOut returns the charge of a query that uses an index in each of so many partitions and finds nothing.
func (r *rig) fanOut(partitions int) float64 {
	r.index(`{k: 1}`)
	r.run(fmt.Sprintf(`{shardCollection: "%s.c", key: {_id: "hashed"}, numInitialChunks: %d}`, r.db.Name(), partitions))
	return r.find(`k: -1`)
}

// tenfold returns the charge of a scan of ten times n documents that finds nothing, computed from a scan of n.
func (r *rig) tenfold(n, bytes int, filter string) float64 {
	r.run(`{create: "c"}`)
	scan := `{find: "c", filter: ` + filter + `}`
	none := r.run(scan)
	for i := 0; i < n; i += 100 {
		var docs []string
		for j := i; j < min(n, i+100); j++ {
			docs = append(docs, document(j, bytes, `k: 1`))
		}
		r.insert(docs)
	}
	return none + 10*(r.run(scan)-none)
}

// vehicles creates the collection of one published measurement: documents of 495 bytes sharded by pk, three indexes
// and one on _ts.
func (r *rig) vehicles(n int) {
	r.run(fmt.Sprintf(`{shardCollection: "%s.c", key: {pk: "hashed"}, numInitialChunks: 1}`, r.db.Name()))
	r.index(`{pk: 1}`, `{transponder: 1}`, `{plate: 1}`, `{_ts: 1}`)
	r.insertVehicles(n)
}

func (r *rig) insertVehicles(n int) float64 {
	var docs []string
	for i := range n {
		docs = append(docs, document(i, 495, fmt.Sprintf(`pk: "pk%d", transponder: "t%d", plate: "p%d", location: ["41.0051", "-73.78458", "Scarsdale", "US"], vehicle: {Year: %d, Make: "Ram", Category: "Pickup"}`, i, i, i, i)))
	}
	return r.insert(docs)
}

// products creates the collection of another published measurement: 295 documents, of which three are of the queried
// category. It returns the charge of the query, which has five predicates and finds one document.
func (r *rig) products(indexes ...string) float64 {
	for _, path := range indexes {
		r.run(fmt.Sprintf(`{createIndexes: "c", indexes: [{key: {"%s": 1}, name: "%s"}]}`, path, path))
	}
	var docs []string
	for i := range 295 {
		docs = append(docs, document(i, 250, fmt.Sprintf(`CategoryName: "category %d", Sku: "sku%d", Name: "name %d", Description: "The product called %d", Price: %d.5`, i/3, i, i, i, i)))
	}
	r.insert(docs)
	return r.find(`$and: [{CategoryName: "category 2"}, {Sku: "sku7"}, {Name: "name 7"}, {Description: "The product called 7"}, {Price: 7.5}]`)
}

// tiny creates the collection of a third published measurement: documents of two numbers, a hundred for each of ten
// values of y.
func (r *rig) tiny() {
	r.index(`{y: 1}`)
	var docs []string
	for i := range 1000 {
		docs = append(docs, fmt.Sprintf(`{x: %d, y: %d}`, i/10, i%10))
	}
	r.insert(docs)
}
