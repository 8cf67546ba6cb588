package language

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/casefile/show"
)

// askEval runs the verb eval on the server: it returns the value of an expression for each document, from one
// pipeline over all documents. If a document makes that fail, it runs the pipeline over each document alone.
func askEval(t *testing.T, l *layout, c *casefile.Case) string {
	text, _ := c.Get("expr")
	docs := documents(t, c)
	if len(docs) == 0 {
		docs = []document{{stored: bsontest.Doc(t, "{_id: 0}")}}
	}
	coll := l.collection(t, indexes(t, l, c, fieldsOf(docs), nil))
	cmd := collated(t, c, bson.D{{Key: "aggregate", Value: coll}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
		bson.D{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}},
		bson.D{{Key: "$replaceWith", Value: bson.D{{Key: "v", Value: rawValue(t, text)}}}},
	}}})
	if let := c.All("let"); len(let) > 0 {
		cmd = append(cmd, bson.E{Key: "let", Value: raw(bsontest.Doc(t, let[0]))})
	}
	l.empty(t, coll)
	if failure, failed := refusal(l.ask(t, cmd)); failed {
		return failure // the expression itself is refused
	}
	var out []string
	for _, group := range groups(docs) {
		out = append(out, l.evaluated(t, coll, cmd, group)...)
	}
	if _, ok := c.Get("paths"); ok { // only the package can compute these
		lines := strings.Split(c.Want(), "\n")
		out = append(out, lines[len(lines)-1])
	}
	return strings.Join(out, "\n")
}

// evaluated returns the values for some documents.
func (l *layout) evaluated(t *testing.T, coll string, cmd bson.D, docs []document) []string {
	t.Helper()
	l.empty(t, coll)
	if _, refused := writeFailure(l.insertion(t, coll, stored(docs))); refused {
		coll = l.collection(t, nil) // an index of the layout cannot hold one of the documents
		cmd = append(bson.D{{Key: "aggregate", Value: coll}}, cmd[1:]...)
		l.empty(t, coll)
		l.insert(t, coll, stored(docs))
	}
	var out []string
	reply := l.ask(t, cmd)
	failure, failed := refusal(reply)
	switch {
	case failed && len(docs) == 1:
		return []string{failure}
	case failed:
		for _, d := range alone(docs) {
			out = append(out, l.evaluated(t, coll, cmd, d)...)
		}
		return out
	}
	for _, d := range batch(t, reply) {
		out = append(out, show.Value(d.Get("v")))
	}
	return out
}

// fieldsOf returns the first fields of documents, for indexes.
func fieldsOf(docs []document) []string {
	const enough = 2
	var out []string
	seen := map[string]bool{"_id": true}
	for _, d := range docs {
		for name := range d.stored.Fields() {
			if !seen[string(name)] && len(out) < enough {
				seen[string(name)] = true
				out = append(out, string(name))
			}
		}
	}
	return out
}
