package language

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/internal/casefile"
)

// askSort runs the verb sort on the server: it returns the documents in order, or, for a case with strings, the
// strings in the order of a collation.
func askSort(t *testing.T, l *layout, c *casefile.Case) string {
	if _, ok := c.Get("strings"); ok {
		return askStrings(t, l, c)
	}
	docs := documents(t, c)
	text, _ := c.Get("pattern")
	pattern := bsontest.Doc(t, text)
	var list []index
	if _, byID := pattern.Lookup("_id"); l.indexed && !strings.Contains(text, "$") && !(byID && pattern.Len() == 1) {
		list = []index{{key: pattern, collation: collationOf(t, c)}}
	}
	coll := l.collection(t, list)
	l.empty(t, coll)
	if _, parallel := writeFailure(l.insertion(t, coll, stored(docs))); parallel {
		coll = l.collection(t, nil) // a compound index can hold only one array of a document
		l.empty(t, coll)
		l.insert(t, coll, stored(docs))
	}
	reply := l.ask(t, collated(t, c, bson.D{{Key: "find", Value: coll}, {Key: "sort", Value: raw(pattern)}}))
	if failure, failed := refusal(reply); failed {
		return failure
	}
	var lines []string
	for _, d := range batch(t, reply) {
		if !docs[0].given {
			d = without(d)
		}
		lines = append(lines, ejson.String(d))
	}
	return inGroups(lines, strings.Split(c.Want(), "\n"))
}

// inGroups returns the expected lines if the lines are equal to them, apart from the order of equal elements;
// otherwise it returns the lines themselves. An expected line that begins with "= " is equal to the one before in the
// sort, and may be swapped with it.
func inGroups(lines, want []string) string {
	var at int
	for at < len(want) {
		end := at + 1
		for end < len(want) && strings.HasPrefix(want[end], "= ") {
			end++
		}
		var expected []string
		for _, w := range want[at:end] {
			expected = append(expected, strings.TrimPrefix(w, "= "))
		}
		if end > len(lines) {
			return strings.Join(lines, "\n")
		}
		got := slices.Clone(lines[at:end])
		slices.Sort(got)
		slices.Sort(expected)
		if !slices.Equal(got, expected) {
			return strings.Join(lines, "\n")
		}
		at = end
	}
	if at != len(lines) {
		return strings.Join(lines, "\n")
	}
	return strings.Join(want, "\n")
}

// askStrings sorts the strings of a case under a collation on the server, and returns them in one line, with " = "
// between strings that a count finds equal and " < " between others.
func askStrings(t *testing.T, l *layout, c *casefile.Case) string {
	text, _ := c.Get("strings")
	var list []index
	if l.indexed {
		list = []index{{key: bsontest.Doc(t, "{s: 1}"), collation: collationOf(t, c)}}
	}
	coll := l.collection(t, list)
	l.empty(t, coll)
	v := bsontest.Value(t, text)
	values, _ := v.Array()
	var docs []cbson.Raw
	for s := range values.Values() {
		b := cbson.NewBuilder(nil)
		b.Int32("_id", int32(len(docs)))
		b.Value("s", s)
		docs = append(docs, b.Doc())
	}
	l.insert(t, coll, docs)
	reply := l.ask(t, collated(t, c, bson.D{
		{Key: "find", Value: coll}, {Key: "sort", Value: parseDriver(t, "{s: 1, _id: 1}")},
	}))
	if failure, failed := refusal(reply); failed {
		return failure
	}
	var out strings.Builder
	equal := 0 // number of further strings that are equal to the previous one
	for i, d := range batch(t, reply) {
		s := d.Get("s")
		same := int(l.must(t, collated(t, c, bson.D{
			{Key: "count", Value: coll}, {Key: "query", Value: bson.D{{Key: "s", Value: bson.RawValue{Type: bson.Type(s.Type), Value: s.Data}}}},
		})).Lookup("n").AsInt64())
		switch {
		case i == 0:
		case equal > 0:
			out.WriteString(" = ")
		default:
			out.WriteString(" < ")
		}
		if equal == 0 {
			equal = same
		}
		equal--
		out.WriteString(strings.ReplaceAll(ejson.ValueString(s), "\u200b", `\u200b`))
	}
	return out.String()
}

// askPattern runs the verb pattern on the server, for sort patterns that the stage $sort must refuse: it returns the
// error, "accepted" if there is none although the case expects one, or else the expected output.
func askPattern(t *testing.T, l *layout, c *casefile.Case) string {
	text, _ := c.Get("pattern")
	reply := l.ask(t, collated(t, c, bson.D{{Key: "aggregate", Value: l.collection(t, nil)}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
		bson.D{{Key: "$sort", Value: rawValue(t, text)}},
	}}}))
	if failure, failed := refusal(reply); failed {
		return failure
	}
	if strings.HasPrefix(c.Want(), "error") {
		return "accepted"
	}
	return c.Want()
}

// askCollation runs the verb collation on the server: it returns the collation in the form in which a collection
// stores it.
func askCollation(t *testing.T, l *layout, c *casefile.Case) string {
	const name = "collated"
	defer l.must(t, bson.D{{Key: "drop", Value: name}})
	if failure, failed := refusal(l.ask(t, collated(t, c, bson.D{{Key: "create", Value: name}}))); failed {
		return failure
	}
	reply := l.must(t, bson.D{{Key: "listCollections", Value: 1}, {Key: "filter", Value: bson.D{{Key: "name", Value: name}}}})
	kept, _ := batch(t, reply)[0].Get("options").Doc()
	v, ok := kept.Lookup("collation")
	if !ok {
		return "{}"
	}
	return fmt.Sprintf(`{"collation":%s}`, ejson.ValueString(v))
}

// parseDriver parses a document in shell notation for the driver's encoder.
func parseDriver(t *testing.T, text string) bson.Raw { return raw(bsontest.Doc(t, text)) }
