package language

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/internal/casefile"
)

// askProject runs the verb project on the server: it returns a line per document, from a find or, if the case names a
// stage, from a pipeline with it.
func askProject(t *testing.T, l *layout, c *casefile.Case) string {
	docs, want := documents(t, c), strings.Split(c.Want(), "\n")
	filter := filterOf(t, c)
	paths := pathsOf(filter)
	if len(paths) == 0 {
		paths = includedPaths(t, c)
	}
	list := indexes(t, l, c, paths, collationOf(t, c))
	coll := l.collection(t, list)
	cmd := projection(t, c, coll, filter)
	if len(list) > 0 && filter.IsEmpty() {
		cmd = append(cmd, bson.E{Key: "hint", Value: "x0"})
	}
	if failure := refusedAnyway(t, l, c, coll, cmd); failure != "" {
		return failure
	}
	var out []string
	for _, group := range groups(docs) {
		out = append(out, projected(t, l, coll, cmd, group, want[min(len(out), len(want)-1):])...)
	}
	return strings.Join(out, "\n")
}

// projection returns the command of a case of the verb project: a find, or an aggregate for a stage, with a sort by
// _id.
func projection(t *testing.T, c *casefile.Case, coll string, filter cbson.Raw) bson.D {
	t.Helper()
	text, _ := c.Get("spec")
	spec := rawValue(t, text)
	if stage, ok := c.Get("stage"); ok {
		return collated(t, c, bson.D{{Key: "aggregate", Value: coll}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: raw(filter)}},
			bson.D{{Key: "$sort", Value: bson.D{{Key: "_id", Value: 1}}}},
			bson.D{{Key: stage, Value: spec}},
		}}})
	}
	return collated(t, c, bson.D{
		{Key: "find", Value: coll}, {Key: "filter", Value: raw(filter)}, {Key: "projection", Value: spec},
		{Key: "sort", Value: bson.D{{Key: "_id", Value: 1}}},
	})
}

// projected runs a command on some documents together, and returns a line for each. If a document makes the command
// fail, it runs the command on each document alone. want holds the expected lines.
func projected(t *testing.T, l *layout, coll string, cmd bson.D, docs []document, want []string) []string {
	t.Helper()
	l.empty(t, coll)
	l.insert(t, coll, stored(docs))
	reply := l.ask(t, cmd)
	if failure, failed := refusal(reply); failed {
		if len(docs) == 1 {
			return []string{failure}
		}
		var out []string
		for i, d := range alone(docs) {
			out = append(out, projected(t, l, coll, cmd, d, want[min(i, len(want)-1):])...)
		}
		return out
	}
	var out []string
	for i, d := range batch(t, reply) {
		if !docs[min(i, len(docs)-1)].given {
			d = without(d)
		}
		out = append(out, textOf(d, want[min(i, len(want)-1)]))
	}
	return out
}

// includedPaths returns the fields that the projection of a case includes by 1, at most two. With an index on them,
// the find may be covered by the index.
func includedPaths(t *testing.T, c *casefile.Case) []string {
	t.Helper()
	text, _ := c.Get("spec")
	spec := rawValue(t, text)
	doc, ok := spec.DocumentOK()
	if !ok {
		return nil
	}
	var out []string
	for name, v := range cbson.Raw(doc).Fields() {
		if n, isNumber := v.AsInt64(); isNumber && n == 1 && len(out) < 2 {
			out = append(out, string(name))
		}
	}
	return out
}
