package language

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/internal/casefile"
)

// document is one document of a case: its text in the case file, and the form in which it is stored.
type document struct {
	text   string
	stored cbson.Raw
	id     cbson.Value // of stored
	given  bool        // the case specifies the _id itself
}

// documents returns the documents of a case. A document without _id gets its index as _id, because a server would
// generate one.
func documents(t *testing.T, c *casefile.Case) []document {
	t.Helper()
	var out []document
	for i, text := range c.All("doc") {
		d := bsontest.Doc(t, text)
		id, given := d.Lookup("_id")
		if !given {
			b := cbson.NewBuilder(nil)
			b.Int32("_id", int32(i))
			for name, v := range d.Fields() {
				b.Value(string(name), v)
			}
			d = b.Doc()
			id, _ = d.Lookup("_id")
		}
		out = append(out, document{text: text, stored: d, id: id, given: given})
	}
	return out
}

// groups divides the documents of a case into groups that can be stored together: one group if this package has
// chosen all _ids, otherwise one per document, because given _ids may be equal.
func groups(docs []document) [][]document {
	if !slices.ContainsFunc(docs, func(d document) bool { return d.given }) {
		return [][]document{docs}
	}
	return alone(docs)
}

// alone returns a group for each document.
func alone(docs []document) [][]document {
	var out [][]document
	for i := range docs {
		out = append(out, docs[i:i+1])
	}
	return out
}

// stored returns the documents as they are inserted.
func stored(docs []document) []cbson.Raw {
	var out []cbson.Raw
	for _, d := range docs {
		out = append(out, d.stored)
	}
	return out
}

// without returns d without its field _id.
func without(d cbson.Raw) cbson.Raw {
	b := cbson.NewBuilder(nil)
	for name, v := range d.Fields() {
		if string(name) != "_id" {
			b.Value(string(name), v)
		}
	}
	return b.Doc()
}

// indexes returns the indexes of a case's collection in a layout: those that the case requires, and, if the layout is
// indexed, one on each of the paths.
func indexes(t *testing.T, l *layout, c *casefile.Case, paths []string, collation cbson.Raw) []index {
	t.Helper()
	var out []index
	for _, text := range c.All("index") {
		out = append(out, index{key: bsontest.Doc(t, text)})
	}
	if !l.indexed {
		return out
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if indexable(p) {
			b := cbson.NewBuilder(nil)
			b.Int32(p, 1)
			out = append(out, index{key: b.Doc(), collation: collation})
		}
	}
	return out
}

// indexable reports whether a path can be indexed.
func indexable(p string) bool {
	for _, part := range strings.Split(p, ".") {
		if part == "" || strings.HasPrefix(part, "$") {
			return false
		}
	}
	return p != "_id" && !strings.ContainsRune(p, 0)
}

// pathsOf returns the paths in a filter.
func pathsOf(filter cbson.Raw) []string {
	var out []string
	for name, v := range filter.Fields() {
		if !strings.HasPrefix(string(name), "$") {
			out = append(out, string(name))
			continue
		}
		if list, ok := v.Array(); ok {
			for clause := range list.Values() {
				if d, ok := clause.Doc(); ok {
					out = append(out, pathsOf(d)...)
				}
			}
		}
	}
	return out
}

// collationOf returns the collation of a case, nil if it has none.
func collationOf(t *testing.T, c *casefile.Case) cbson.Raw {
	t.Helper()
	text, ok := c.Get("collation")
	if !ok {
		return nil
	}
	return bsontest.Doc(t, text)
}

// collated adds the case's collation to a command or statement.
func collated(t *testing.T, c *casefile.Case, cmd bson.D) bson.D {
	t.Helper()
	if text, ok := c.Get("collation"); ok {
		cmd = append(cmd, bson.E{Key: "collation", Value: rawValue(t, text)})
	}
	return cmd
}

// rawValue reads any value in shell notation for the driver's encoder.
func rawValue(t *testing.T, text string) bson.RawValue {
	t.Helper()
	v := bsontest.Value(t, text)
	return bson.RawValue{Type: bson.Type(v.Type), Value: v.Data}
}
