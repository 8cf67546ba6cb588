package language

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// layout is one way of storing the documents of cases: in one partition or several, without or with indexes. Its
// collections are in a database of its name.
type layout struct {
	name    string
	shards  int  // partitions, 0 for an unsharded collection
	indexed bool // the paths that a case names are indexed

	conn        *harness.Conn
	collections map[string]string // names of collections by their set of indexes
	others      map[string]string // further collections that pipelines name, with the parameters of their creation
}

// layouts returns the four layouts in which every case runs.
func layouts(conn *harness.Conn) []*layout {
	return []*layout{
		{name: "one", conn: conn, collections: map[string]string{}, others: map[string]string{}},
		{name: "one_indexed", indexed: true, conn: conn, collections: map[string]string{}, others: map[string]string{}},
		{name: "eight", shards: 8, conn: conn, collections: map[string]string{}, others: map[string]string{}},
		{name: "eight_indexed", shards: 8, indexed: true, conn: conn, collections: map[string]string{}, others: map[string]string{}},
	}
}

// index is one index of a case: a key pattern, perhaps with a collation.
type index struct {
	key       cbson.Raw
	collation cbson.Raw // nil for none
}

// collection returns the name of a collection in the layout that has exactly these indexes. Cases share collections:
// it may still hold the documents of an earlier case, and its indexes may be multikey.
func (l *layout) collection(t *testing.T, indexes []index) string {
	t.Helper()
	var set strings.Builder
	for _, x := range indexes {
		set.WriteString(ejson.String(x.key) + ejson.String(x.collation) + " ")
	}
	name, ok := l.collections[set.String()]
	if ok {
		return name
	}
	name = fmt.Sprintf("c%d", len(l.collections))
	l.collections[set.String()] = name
	l.must(t, bson.D{{Key: "create", Value: name}})
	l.shard(t, name, l.shards)
	for i, x := range indexes {
		spec := bson.D{{Key: "key", Value: raw(x.key)}, {Key: "name", Value: fmt.Sprintf("x%d", i)}}
		if x.collation != nil {
			spec = append(spec, bson.E{Key: "collation", Value: raw(x.collation)})
		}
		l.must(t, bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: bson.A{spec}}})
	}
	return name
}

// shard shards a collection over so many partitions, 0 for none.
func (l *layout) shard(t *testing.T, coll string, shards int) {
	t.Helper()
	if shards > 0 {
		l.must(t, bson.D{
			{Key: "shardCollection", Value: l.name + "." + coll},
			{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}},
			{Key: "numInitialChunks", Value: shards},
			{Key: "$db", Value: "admin"},
		})
	}
}

// insert puts documents into a collection.
func (l *layout) insert(t *testing.T, coll string, docs []cbson.Raw) {
	t.Helper()
	if len(docs) > 0 {
		l.done(t, l.insertion(t, coll, docs))
	}
}

// insertion returns the reply to an insert, which may refuse documents.
func (l *layout) insertion(t *testing.T, coll string, docs []cbson.Raw) bson.Raw {
	t.Helper()
	list := bson.A{}
	for _, d := range docs {
		list = append(list, raw(d))
	}
	return l.ask(t, bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: list}})
}

// empty removes every document.
func (l *layout) empty(t *testing.T, coll string) {
	t.Helper()
	all := bson.D{{Key: "q", Value: bson.D{}}, {Key: "limit", Value: 0}}
	l.must(t, bson.D{{Key: "delete", Value: coll}, {Key: "deletes", Value: bson.A{all}}})
}

// ask sends a command and returns its reply.
func (l *layout) ask(t *testing.T, cmd bson.D) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(cmd)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := l.conn.Command(l.name, doc)
	if err != nil {
		t.Fatalf("%s: %v", harness.Text(cmd), err)
	}
	return reply
}

// must sends a command that has to succeed.
func (l *layout) must(t *testing.T, cmd bson.D) bson.Raw {
	t.Helper()
	reply := l.ask(t, cmd)
	l.done(t, reply)
	return reply
}

// done fails the test if the reply shows that a command, or one of its statements, was refused.
func (l *layout) done(t *testing.T, reply bson.Raw) {
	t.Helper()
	if _, failed := writeFailure(reply); failed {
		t.Fatalf("layout %s: %s", l.name, harness.Text(reply))
	}
}

// refusal returns the error of a reply in the form that case files have; failed is false if there is none.
func refusal(reply bson.Raw) (text string, failed bool) {
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok == 1 {
		return "", false
	}
	return harness.Render(reply, false), true
}

// batch returns the documents in the first batch of a reply, which holds all results of a case.
func batch(t *testing.T, reply bson.Raw) []cbson.Raw {
	t.Helper()
	values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	var out []cbson.Raw
	for _, v := range values {
		out = append(out, cbson.Raw(v.Document()))
	}
	return out
}

// raw converts a document for the driver's encoder.
func raw(d cbson.Raw) bson.Raw { return bson.Raw(d) }
