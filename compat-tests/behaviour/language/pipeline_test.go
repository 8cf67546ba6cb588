package language

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/internal/casefile"
)

// askRun runs the verb run on the server: it returns the documents of a pipeline, one per line, and then the contents
// of the collections that show names. If these are the expected lines in another order, it returns the expected
// output.
//
// "order: kept" in a case declares that its result depends on the order of its documents: with several partitions the
// pipeline then begins with a sort by _id, and the other collections are not sharded.
func askRun(t *testing.T, l *layout, c *casefile.Case) string {
	for _, key := range []string{"memory", "nospill", "on"} {
		if _, ok := c.Get(key); ok {
			t.Skipf("%s is a matter of the package alone", key)
		}
	}
	docs := caseDocs(t, c)
	_, ordered := c.Get("order")
	own := l.collection(t, l.caseIndexes(t, c, docs))
	l.empty(t, own)
	if _, refused := writeFailure(l.insertion(t, own, docs)); refused && len(docs) > 0 {
		own = l.collection(t, nil) // an index of the layout cannot hold one of the documents
		l.empty(t, own)
		l.insert(t, own, docs)
	}
	names := []string{}
	if text, _ := c.Get("pipeline"); strings.Contains(text, `from: "c"`) {
		l.refill(t, "c", docs, othersShards(l, ordered)) // under the name by which the case uses it
	}
	for _, text := range c.All("foreign") {
		name, list, _ := strings.Cut(text, " ")
		l.refill(t, name, docList(t, list), othersShards(l, ordered))
		names = append(names, name)
	}
	for _, name := range c.All("show") {
		if !slices.Contains(names, name) {
			l.refill(t, name, nil, othersShards(l, ordered))
		}
	}
	reply := l.ask(t, l.pipeline(t, c, own))
	if failure, failed := refusal(reply); failed {
		return failure
	}
	var out []string
	for _, d := range batch(t, reply) {
		out = append(out, plain(d))
	}
	for _, name := range c.All("show") {
		out = append(out, name+":")
		all := l.must(t, bson.D{{Key: "find", Value: name}, {Key: "sort", Value: bson.D{{Key: "_id", Value: 1}}}})
		for _, d := range batch(t, all) {
			out = append(out, "  "+plain(d))
		}
	}
	got := strings.Join(out, "\n")
	if sameLines(got, c.Want()) {
		return c.Want()
	}
	return got
}

// othersShards returns the number of partitions for the other collections that a case's pipeline reads; ordered means
// "order: kept".
func othersShards(l *layout, ordered bool) int {
	if ordered {
		return 0
	}
	return l.shards
}

// pipeline returns the command of a case.
func (l *layout) pipeline(t *testing.T, c *casefile.Case, coll string) bson.D {
	t.Helper()
	text, _ := c.Get("pipeline")
	stages := rawValue(t, text)
	if _, ok := c.Get("order"); ok && l.shards > 0 {
		list := bson.A{bson.D{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}}}
		values, err := stages.Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			list = append(list, v)
		}
		kind, data, err := bson.MarshalValue(list)
		if err != nil {
			t.Fatal(err)
		}
		stages = bson.RawValue{Type: kind, Value: data}
	}
	cmd := collated(t, c, bson.D{{Key: "aggregate", Value: coll}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: stages}})
	if let, ok := c.Get("let"); ok {
		cmd = append(cmd, bson.E{Key: "let", Value: raw(bsontest.Doc(t, let))})
	}
	return cmd
}

// refill makes the collection coll hold exactly the given documents, in so many partitions. The collection is kept
// for later cases.
func (l *layout) refill(t *testing.T, coll string, docs []cbson.Raw, shards int) {
	t.Helper()
	kind := fmt.Sprintf("%s over %d", coll, shards)
	if l.others[coll] != kind {
		l.ask(t, bson.D{{Key: "drop", Value: coll}})
		l.must(t, bson.D{{Key: "create", Value: coll}})
		l.shard(t, coll, shards)
		l.others[coll] = kind
	}
	l.empty(t, coll)
	l.insert(t, coll, docs)
}

// caseIndexes returns the indexes of a case's collection: those that the case requires and, in the indexed layouts,
// one on each of the first fields of the documents.
func (l *layout) caseIndexes(t *testing.T, c *casefile.Case, docs []cbson.Raw) []index {
	t.Helper()
	var list []document
	for _, d := range docs {
		list = append(list, document{stored: d})
	}
	return indexes(t, l, c, fieldsOf(list), nil)
}

// caseDocs returns the documents of a case's own collection. A document without _id gets its index plus a million as
// _id, by which plain recognises and removes it.
func caseDocs(t *testing.T, c *casefile.Case) []cbson.Raw {
	t.Helper()
	var out []cbson.Raw
	for _, a := range c.Args {
		switch a.Key {
		case "doc":
			out = append(out, numbered(bsontest.Doc(t, a.Value), len(out)))
		case "docs":
			for _, d := range docList(t, a.Value) {
				out = append(out, numbered(d, len(out)))
			}
		}
	}
	return out
}

const ownIDs = 1_000_000

func numbered(d cbson.Raw, i int) cbson.Raw {
	if _, given := d.Lookup("_id"); given {
		return d
	}
	b := cbson.NewBuilder(nil)
	b.Int32("_id", int32(ownIDs+i))
	for name, v := range d.Fields() {
		b.Value(string(name), v)
	}
	return b.Doc()
}

// docList reads an array of documents.
func docList(t *testing.T, text string) []cbson.Raw {
	t.Helper()
	v := bsontest.Value(t, text)
	list, _ := v.Array()
	var out []cbson.Raw
	for e := range list.Values() {
		out = append(out, numbered(cbson.Raw(e.Data), len(out)))
	}
	return out
}

// ownID matches an _id that numbered has added, as printed.
var ownID = regexp.MustCompile(`"_id":` + strconv.Itoa(ownIDs/1000) + `\d{3},?`)

// plain returns a document as text, without the _ids that caseDocs added, wherever they are nested.
func plain(d cbson.Raw) string {
	return strings.ReplaceAll(ownID.ReplaceAllString(ejson.String(d), ""), ",}", "}")
}

// longNumber matches a double with twelve or more decimals: its last digits depend on the order of additions.
var longNumber = regexp.MustCompile(`\d+\.\d{12,}`)

// sameLines reports whether two outputs have the same lines in any order, with doubles compared to twelve digits.
func sameLines(a, b string) bool { return sortedLines(a) == sortedLines(b) }

func sortedLines(s string) string {
	lines := strings.Split(longNumber.ReplaceAllStringFunc(s, func(n string) string {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return n
		}
		return fmt.Sprintf("%.12g", f)
	}), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
