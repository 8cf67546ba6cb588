package language

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/internal/casefile"
)

// askMatch runs the verb match on the server: for each filter it returns a line per document, whether it matches, or
// the error of the filter itself.
func askMatch(t *testing.T, l *layout, c *casefile.Case) string {
	docs := documents(t, c)
	var out []string
	for _, text := range c.All("filter") {
		filter := bsontest.Doc(t, text)
		coll := l.collection(t, indexes(t, l, c, pathsOf(filter), collationOf(t, c)))
		find := collated(t, c, bson.D{{Key: "find", Value: coll}, {Key: "filter", Value: raw(filter)}})
		if failure := refusedAnyway(t, l, c, coll, find); failure != "" {
			out = append(out, failure)
			continue
		}
		for _, group := range groups(docs) {
			if len(group) > 0 {
				out = append(out, matches(t, l, c, coll, find, group)...)
			}
		}
	}
	return strings.Join(out, "\n")
}

// refusedAnyway returns the error of a command on an empty collection, "" if there is none. It sends the command only
// if the case has no documents or expects errors: a filter that is itself invalid has one line of output, not one for
// each document.
func refusedAnyway(t *testing.T, l *layout, c *casefile.Case, coll string, cmd bson.D) string {
	t.Helper()
	if _, ok := c.Get("doc"); ok && !strings.Contains(c.Want(), "error") {
		return ""
	}
	l.empty(t, coll)
	failure, _ := writeFailure(l.ask(t, cmd))
	return failure
}

// matches returns a line for each document: whether a find with the filter returns it; and, except for $near, a line
// with the number of a count that differs. Both run over all documents together; if a document makes the find fail,
// over each document alone.
func matches(t *testing.T, l *layout, c *casefile.Case, coll string, find bson.D, docs []document) []string {
	t.Helper()
	l.empty(t, coll)
	if _, refused := writeFailure(l.insertion(t, coll, stored(docs))); refused {
		coll = l.collection(t, nil) // an index of the layout cannot hold one of the documents
		find = append(bson.D{{Key: "find", Value: coll}}, find[1:]...)
		l.empty(t, coll)
		l.insert(t, coll, stored(docs))
	}
	reply := l.ask(t, find)
	if failure, failed := refusal(reply); failed {
		if len(docs) == 1 {
			return []string{failure}
		}
		var out []string
		for _, d := range alone(docs) {
			out = append(out, matches(t, l, c, coll, find, d)...)
		}
		return out
	}
	found := map[string]bool{}
	for _, d := range batch(t, reply) {
		found[ejson.Canonical(d)] = true
	}
	var out []string
	for _, d := range docs {
		out = append(out, fmt.Sprint(found[ejson.Canonical(d.stored)]))
	}
	if !strings.Contains(find[1].Value.(bson.Raw).String(), "$near") {
		query := collated(t, c, bson.D{{Key: "count", Value: coll}, {Key: "query", Value: find[1].Value}})
		if n := l.must(t, query).Lookup("n").AsInt64(); int(n) != len(found) {
			out = append(out, fmt.Sprintf("count: %d", n))
		}
	}
	return out
}

// textOf prints a result in the notation of the case file: if the result equals the expected one, as the expected
// text.
func textOf(got cbson.Raw, want string) string {
	text := ejson.String(got)
	if expected, err := ejson.Parse(want); err == nil && text != want {
		same := ejson.String(expected) == text
		if strings.Contains(want, `Long("`) {
			same = ejson.Canonical(expected) == ejson.Canonical(got)
		}
		if same {
			return want
		}
	}
	return text
}
