package examined

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// batchRows is more than any query returns: its answer is one batch.
const batchRows = 100_000

// The databases of the rig. They have the same documents; in plain there are no secondary indexes.
const (
	plain = "plain"
	one   = "one"
	four  = "four"
)

// databases lists the databases of the rig. The first one has no secondary indexes: the answers of the others are
// compared with its answers.
var databases = []string{plain, one, four}

// partitions is the number of partitions of each collection in the database four.
const partitions = 4

// rig is a server with the documents of one case file.
type rig struct {
	conn  *harness.Conn
	names []string // the collections
	made  []string // the collections with indexes
}

// run runs a command and returns its reply, or an error if it fails.
func (r *rig) run(db string, cmd bson.D) (bson.Raw, error) {
	raw, err := bson.Marshal(cmd)
	if err != nil {
		return nil, err
	}
	reply, err := r.conn.Command(db, raw)
	if err != nil {
		return nil, err
	}
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 {
		return nil, fmt.Errorf("%s", harness.Render(reply, true))
	}
	if failed, ok := reply.Lookup("writeErrors").ArrayOK(); ok {
		return nil, fmt.Errorf("%s", failed)
	}
	return reply, nil
}

// fill creates the collection of a case "data" in every database.
func (r *rig) fill(c *casefile.Case) error {
	name, _ := c.Get("name")
	count, _ := c.Get("count")
	document, _ := c.Get("document")
	options, _ := c.Get("options")
	shard, ok := c.Get("shard")
	if !ok {
		shard = `{_id: "hashed"}`
	}
	args, err := values(count + "," + document + "," + shard + "," + cmp.Or(options, "{}"))
	if err != nil {
		return err
	}
	numbers := bson.D{{Key: "$map", Value: bson.D{{Key: "input", Value: bson.D{{Key: "$range", Value: bson.A{0, args[0]}}}}, {Key: "in", Value: bson.D{{Key: "i", Value: "$$this"}}}}}}
	reply, err := r.run("admin", bson.D{{Key: "aggregate", Value: 1}, {Key: "pipeline", Value: bson.A{
		bson.D{{Key: "$documents", Value: numbers}},
		bson.D{{Key: "$replaceWith", Value: args[1]}},
	}}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: batchRows}}}})
	if err != nil {
		return err
	}
	docs := reply.Lookup("cursor", "firstBatch")
	for _, db := range databases {
		if _, err := r.run(db, with(bson.D{{Key: "create", Value: name}}, args[3:])); err != nil {
			return err
		}
		if key := args[2].(bson.D); db == four && len(key) > 0 {
			shard := bson.D{{Key: "shardCollection", Value: db + "." + name}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: partitions}}
			if _, err := r.run("admin", shard); err != nil {
				return err
			}
		}
		if _, err := r.run(db, bson.D{{Key: "insert", Value: name}, {Key: "documents", Value: docs}}); err != nil {
			return err
		}
	}
	r.names = append(r.names, name)
	return nil
}

// index replaces all secondary indexes by those of a table.
func (r *rig) index(c *casefile.Case) error {
	on, _ := c.Get("on")
	if !slices.Contains(r.names, on) {
		return fmt.Errorf("no data are named %q", on)
	}
	made := map[string]bson.A{}
	for i, text := range c.All("index") {
		args, err := values(text)
		if err != nil {
			return err
		}
		of, name, options := on, fmt.Sprintf("i%d", i), bson.D{}
		if len(args) > 1 {
			for _, e := range args[1].(bson.D) {
				switch e.Key {
				case "of":
					of = e.Value.(string)
				case "name":
					name = e.Value.(string)
				default:
					options = append(options, e)
				}
			}
		}
		made[of] = append(made[of], append(bson.D{{Key: "key", Value: args[0]}, {Key: "name", Value: name}}, options...))
	}
	for _, db := range []string{one, four} {
		for _, name := range r.made {
			if _, err := r.run(db, bson.D{{Key: "dropIndexes", Value: name}, {Key: "index", Value: "*"}}); err != nil {
				return err
			}
		}
		for name, indexes := range made {
			if _, err := r.run(db, bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: indexes}}); err != nil {
				return err
			}
		}
	}
	r.made = slices.Sorted(maps.Keys(made))
	return nil
}

// plan holds the counters and stages that explain shows for a query.
type plan struct {
	keys, docs int64
	stages     []string
	joined     bool  // the counters contain those of a $lookup or $graphLookup
	matched    int64 // documents that an update or delete would write
	text       string
}

// explain runs a query under explain.
func (r *rig) explain(db string, q *row) (p plan, err error) {
	reply, err := r.run(db, bson.D{{Key: "explain", Value: q.command}, {Key: "verbosity", Value: "executionStats"}})
	if err != nil {
		return p, err
	}
	p.text = harness.Text(reply)
	p.add(reply, false)
	return p, nil
}

// add adds the counters and stages of a part of the reply to p. Counters below a document with totals are in these.
func (p *plan) add(doc bson.Raw, counted bool) {
	if keys, ok := doc.Lookup("totalKeysExamined").AsInt64OK(); ok && !counted {
		docs, _ := doc.Lookup("totalDocsExamined").AsInt64OK()
		p.keys, p.docs, counted = p.keys+keys, p.docs+docs, true
		_, lookup := doc.LookupErr("$lookup")
		_, graph := doc.LookupErr("$graphLookup")
		p.joined = p.joined || lookup == nil || graph == nil
	}
	elements, _ := doc.Elements()
	for _, e := range elements {
		switch v := e.Value(); {
		case e.Key() == "rejectedPlans" || e.Key() == "executionStages": // the latter repeats winningPlan
			p.matched = max(p.matched, written(v))
		case v.Type == bson.TypeEmbeddedDocument:
			p.add(v.Document(), counted)
		case v.Type == bson.TypeArray:
			p.add(bson.Raw(v.Array()), counted)
		case e.Key() == "stage":
			if name, ok := v.StringValueOK(); ok {
				p.stages = append(p.stages, name)
			}
		}
	}
}

// written returns how many documents an update or delete would write, by its stages.
func written(stages bson.RawValue) int64 {
	doc, _ := stages.DocumentOK()
	for _, name := range []string{"nWouldModify", "nWouldDelete"} {
		if n, ok := doc.Lookup(name).AsInt64OK(); ok {
			return n
		}
	}
	return 0
}

// answer is the result of a query, in a form that is equal for all plans.
type answer struct {
	rows []string // documents or values, sorted
	keys []string // the values of the sort's fields, in the order of the result
}

// answer runs a query.
func (r *rig) answer(db string, q *row) (a answer, err error) {
	switch q.command[0].Key {
	case "update", "delete":
		p, err := r.explain(db, q)
		return answer{rows: []string{fmt.Sprint(p.matched)}}, err
	}
	cmd := slices.Clone(q.command)
	if db == plain {
		cmd = slices.DeleteFunc(cmd, func(e bson.E) bool { return e.Key == "hint" })
	}
	reply, err := r.run(db, cmd)
	if err != nil {
		return a, err
	}
	if n, err := reply.LookupErr("n"); err == nil {
		return answer{rows: []string{n.String()}}, nil
	}
	rows, err := reply.LookupErr("cursor", "firstBatch")
	if err != nil {
		rows = reply.Lookup("values")
	}
	docs, _ := rows.Array().Values()
	sorted := q.option("sort")
	for _, d := range docs {
		a.rows = append(a.rows, harness.Text(bson.D{{Key: "", Value: d}}))
		var key bson.A
		for _, e := range sorted {
			key = append(key, lookup(d, e.Key))
		}
		if sorted != nil {
			a.keys = append(a.keys, harness.Text(bson.D{{Key: "", Value: key}}))
		}
	}
	if q.several {
		a.keys = nil
	}
	if q.several || q.limited() { // which of the documents that match, or of those with equal keys, is open
		a.rows = []string{fmt.Sprint(len(docs), " documents")}
	}
	slices.Sort(a.rows)
	return a, nil
}

// option returns the value of an option of a query that is a document, or nil.
func (q *row) option(name string) bson.D {
	for _, e := range q.command {
		if d, ok := e.Value.(bson.D); ok && e.Key == name {
			return d
		}
	}
	return nil
}

// lookup returns the value at a path without arrays, or nil.
func lookup(doc bson.RawValue, path string) any {
	d, ok := doc.DocumentOK()
	if !ok {
		return nil
	}
	v, err := d.LookupErr(strings.Split(path, ".")...)
	if err != nil {
		return nil
	}
	return v
}

// difference returns the first difference of two answers, or "".
func (a answer) difference(b answer) string {
	for _, p := range []struct {
		what string
		a, b []string
	}{{"row", a.rows, b.rows}, {"sort key", a.keys, b.keys}} {
		for i := range max(len(p.a), len(p.b)) {
			switch {
			case i >= len(p.a):
				return fmt.Sprintf("%d and %d rows; more: %s", len(p.a), len(p.b), p.b[i])
			case i >= len(p.b):
				return fmt.Sprintf("%d and %d rows; missing: %s", len(p.a), len(p.b), p.a[i])
			case p.a[i] != p.b[i]:
				return fmt.Sprintf("%s %d is %s, not %s", p.what, i, p.b[i], p.a[i])
			}
		}
	}
	return ""
}
