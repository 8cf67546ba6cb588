package language

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/internal/casefile"
)

// askApply runs the verb apply on the server: for each update and each document it returns the updated document,
// "same" if nothing changed, or the error.
func askApply(t *testing.T, l *layout, c *casefile.Case) string {
	docs, want := documents(t, c), strings.Split(c.Want(), "\n")
	filter := filterOf(t, c)
	coll := l.collection(t, indexes(t, l, c, append(pathsOf(filter), updatedPaths(t, c)...), collationOf(t, c)))
	var out []string
	expected := func() string {
		if len(out) < len(want) {
			return want[len(out)]
		}
		return ""
	}
	for _, text := range c.All("update") {
		if failure := refusedAnyway(t, l, c, coll, updateOf(t, c, coll, text, filter, false)); failure != "" {
			out = append(out, failure)
			continue
		}
		for _, d := range docs {
			out = append(out, applied(t, l, c, coll, text, d, expected()))
		}
	}
	return strings.Join(out, "\n")
}

// replaces reports whether an update is a replacement document whose bytes differ from the stored document. The
// server counts such a replacement as a change even if the resulting document is the same.
func replaces(update string, stored cbson.Raw) bool {
	v, err := ejson.ParseValue(update)
	if err != nil {
		return false
	}
	d, ok := v.Doc()
	f, _ := d.First()
	return ok && !bytes.Equal(d, stored) && !strings.HasPrefix(string(f.Name), "$")
}

// applied applies an update to one document, alone in its collection, and returns the result as in the case file.
func applied(t *testing.T, l *layout, c *casefile.Case, coll, text string, d document, want string) string {
	t.Helper()
	l.empty(t, coll)
	l.insert(t, coll, []cbson.Raw{d.stored})
	reply := l.ask(t, updateOf(t, c, coll, text, withID(d.id, filterOf(t, c)), false))
	if failure, failed := writeFailure(reply); failed {
		return failure
	}
	after := batch(t, l.must(t, bson.D{{Key: "find", Value: coll}}))
	if len(after) != 1 || reply.Lookup("n").AsInt64() != 1 {
		return fmt.Sprintf("n: %v of %d documents", reply.Lookup("n"), len(after))
	}
	same := ejson.Canonical(after[0]) == ejson.Canonical(d.stored)
	modified := reply.Lookup("nModified").AsInt64()
	if again := replaces(text, d.stored) && modified == 1; (modified == 0) != same && !again {
		return fmt.Sprintf("nModified: %d: %s", modified, ejson.String(after[0]))
	}
	if modified == 0 {
		return "same"
	}
	if !d.given {
		after[0] = without(after[0])
	}
	return textOf(after[0], want)
}

// askUpsert runs the verb upsert on the server: for each update it returns the document that is inserted into an
// empty collection, or the error.
func askUpsert(t *testing.T, l *layout, c *casefile.Case) string {
	want := strings.Split(c.Want(), "\n")
	filter := filterOf(t, c)
	coll := l.collection(t, indexes(t, l, c, pathsOf(filter), collationOf(t, c)))
	var out []string
	for i, text := range c.All("update") {
		l.empty(t, coll)
		if failure, failed := writeFailure(l.ask(t, updateOf(t, c, coll, text, filter, true))); failed {
			out = append(out, failure)
			continue
		}
		for _, d := range batch(t, l.must(t, bson.D{{Key: "find", Value: coll}})) {
			out = append(out, textOf(withoutNewID(d), want[min(i, len(want)-1)]))
		}
	}
	return strings.Join(out, "\n")
}

// filterOf returns the filter of a case, empty if it has none.
func filterOf(t *testing.T, c *casefile.Case) cbson.Raw {
	t.Helper()
	if text, ok := c.Get("filter"); ok {
		return bsontest.Doc(t, text)
	}
	return cbson.Empty
}

// withID returns the filter for one document.
func withID(id cbson.Value, filter cbson.Raw) cbson.Raw {
	if _, given := filter.Lookup("_id"); given {
		return filter
	}
	b := cbson.NewBuilder(nil)
	b.Value("_id", id)
	for name, v := range filter.Fields() {
		b.Value(string(name), v)
	}
	return b.Doc()
}

// updateOf returns the update command of a case.
func updateOf(t *testing.T, c *casefile.Case, coll, text string, filter cbson.Raw, upsert bool) bson.D {
	t.Helper()
	statement := bson.D{{Key: "q", Value: raw(filter)}, {Key: "u", Value: rawValue(t, text)}}
	if filters, ok := c.Get("arrayFilters"); ok {
		statement = append(statement, bson.E{Key: "arrayFilters", Value: rawValue(t, filters)})
	}
	if _, ok := c.Get("multi"); ok {
		statement = append(statement, bson.E{Key: "multi", Value: true})
	}
	if upsert {
		statement = append(statement, bson.E{Key: "upsert", Value: true})
	}
	return bson.D{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{collated(t, c, statement)}}}
}

// updatedPaths returns the paths that the operators in the updates of a case name, at most four. With indexes on
// them, the updates must change index entries.
func updatedPaths(t *testing.T, c *casefile.Case) []string {
	t.Helper()
	var out []string
	for _, text := range c.All("update") {
		v := bsontest.Value(t, text)
		d, _ := v.Doc()
		for _, operand := range d.Fields() {
			fields, _ := operand.Doc()
			for name := range fields.Fields() {
				if p := string(name); !strings.Contains(p, "$") && len(out) < 4 {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// writeFailure returns the error in the reply to a write: that of the command, or the first of its statements.
func writeFailure(reply bson.Raw) (text string, failed bool) {
	if text, failed = refusal(reply); failed {
		return text, true
	}
	code, failed := reply.Lookup("writeErrors", "0", "code").AsInt64OK()
	if !failed {
		return "", false
	}
	return fmt.Sprintf("error %d %s", code, mongoerr.Code(code)), true
}

// withoutNewID replaces an _id that the server has generated, an ObjectId, by a fixed text.
func withoutNewID(d cbson.Raw) cbson.Raw {
	b := cbson.NewBuilder(nil)
	for name, v := range d.Fields() {
		if _, made := v.ObjectID(); made && string(name) == "_id" {
			b.String("_id", "new id")
			continue
		}
		b.Value(string(name), v)
	}
	return b.Doc()
}
