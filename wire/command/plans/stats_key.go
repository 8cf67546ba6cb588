package plans

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// statsKey identifies the executions that $queryStats adds up: those of one query shape with the same options, by the same client.
type statsKey struct {
	doc       bson.Raw
	hash      string // of doc
	shapeHash string // of the query shape in doc, the one of explain and of query settings
	write     bool
}

// statsKeyOf returns the key of a command that has its arguments in c.
// Errors: those of its arguments.
func (s *State) statsKeyOf(c *command.Call) (k statsKey, err error) {
	k.write = c.Def.Kind == command.KindWrite
	x := &explained.Explained{}
	var shape bson.Raw
	if k.write {
		if x.Ns, err = c.Namespace(); err != nil {
			return k, err
		}
		shape, err = writeShape(c, x.Ns)
	} else {
		part, failed := c.Part(c.DB, representativeOf(c.Body))
		if failed == nil {
			failed = part.Err
		}
		if failed != nil {
			return k, failed
		}
		body := c.Body
		c.Become(c.Def, part.Body)
		if x, err = c.Def.Explain(c, part.Request); err == nil {
			shape, err = queryShape(c, x)
		}
		c.Become(c.Def, body)
	}
	if err != nil {
		return k, err
	}
	b := bson.NewBuilder(nil)
	b.Raw("queryShape", shape)
	if client := c.ConnState.Client.Load(); client != nil {
		b.Raw("client", client.Doc)
	}
	b.String("collectionType", s.collectionType(c, x))
	appendStatsOptions(b, c.Body)
	if x.Pipeline != nil {
		appendOtherNamespaces(b, c.DB, x)
	}
	k.doc = b.Doc()
	sum := sha256.Sum256(k.doc)
	k.hash, k.shapeHash = base64.StdEncoding.EncodeToString(sum[:]), shapeHash(shape)
	return k, nil
}

// writeShape returns the shape of a batch of writes on ns: that of its first statement.
func writeShape(c *command.Call, ns collection.Namespace) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	b.BeginDoc("cmdNs")
	b.String("db", ns.DB)
	b.String("coll", ns.Coll)
	b.End()
	b.String("command", c.Name())
	if c.Def.Op == command.OpInsert {
		b.String("documents", "?array<?object>")
		return b.Doc(), nil
	}
	statement := c.Statement()
	q, _ := statement.Get("q").Doc()
	f, err := match.Parse(c.Env(), q)
	if err != nil {
		return nil, err
	}
	b.Raw("q", shaper{env: c.Env(), filter: true}.doc(match.String(f)))
	if u, ok := statement.Lookup("u"); ok {
		b.Value("u", updateShape(c, u))
	}
	for _, name := range []string{"multi", "upsert", "limit", "collation"} {
		if v, ok := statement.Lookup(name); ok {
			b.Value(name, v)
		}
	}
	if list, ok := statement.Get("arrayFilters").Array(); ok {
		b.Array("arrayFilters", filterShapes(c, list))
	}
	if c.Body.Has("let") {
		b.String("let", "?object")
	}
	return b.Doc(), c.Env().Interrupted()
}

// updateShape returns the shape of an update: a pipeline without its values, the paths of operators, or ?object for a replacement.
func updateShape(c *command.Call, u bson.Value) bson.Value {
	if list, ok := u.Array(); ok {
		b := bson.NewArrayBuilder(nil)
		for v := range list.Values() {
			if d, ok := v.Doc(); ok && c.Env().Tick() == nil {
				b.Raw("", shaper{env: c.Env()}.stage(d))
			}
		}
		return b.Doc().ArrayValue()
	}
	d, _ := u.Doc()
	if !hasOperator(d) {
		return mark("?object")
	}
	b := bson.NewBuilder(nil)
	for op, arg := range d.Fields() {
		paths, ok := arg.Doc()
		if !ok {
			continue
		}
		b.BeginDocBytes(op)
		for path, v := range paths.Fields() {
			b.ValueBytes(path, placeholder(v))
		}
		b.End()
	}
	return b.Doc().Value()
}

// filterShapes returns the shapes of a list of filters.
func filterShapes(c *command.Call, list bson.Raw) bson.Raw {
	b := bson.NewArrayBuilder(nil)
	for v := range list.Values() {
		if d, ok := v.Doc(); ok {
			b.Raw("", shaper{env: c.Env(), filter: true}.doc(d))
		}
	}
	return b.Doc()
}

// hasOperator reports whether an update consists of operators.
func hasOperator(d bson.Raw) bool {
	f, ok := d.First()
	return ok && len(f.Name) > 0 && f.Name[0] == '$'
}

// placeholder returns the placeholder of a value of any type.
func placeholder(v bson.Value) bson.Value {
	if v.IsNumber() {
		return mark("?number")
	}
	return mark("?" + v.Type.String())
}

// collectionType returns the kind of the namespace that a command reads or writes.
func (s *State) collectionType(c *command.Call, x *explained.Explained) string {
	if x.Pipeline != nil && x.Pipeline.First != nil && x.Pipeline.First.Watches {
		return "changeStream"
	}
	if x.Ns.Coll == "" || s.Virtual.Is(x.Ns) {
		return "virtual"
	}
	snapshot := s.Cluster.Catalog()
	if snapshot.Series(x.Ns) != nil {
		return "timeseries"
	}
	if coll := snapshot.Collection(x.Ns); coll != nil {
		return coll.Kind()
	}
	return "nonExistent"
}

// statsOptions lists the options of commands that are part of the key, with their value or a placeholder for it.
var statsOptions = [...]struct {
	name    string
	literal bool
}{
	{"readConcern", true}, {"$readPreference", true}, {"hint", false}, {"batchSize", false}, {"cursor", false}, {"maxTimeMS", false}, {"comment", false},
	{"noCursorTimeout", true}, {"allowPartialResults", true}, {"allowDiskUse", true}, {"explain", true}, {"ordered", true}, {"bypassDocumentValidation", true},
	{"apiVersion", true}, {"apiStrict", true}, {"apiDeprecationErrors", true},
}

// appendStatsOptions appends the options of a command. Of a hint by its keys these are shown, and of a cursor its fields.
func appendStatsOptions(b *bson.Builder, body bson.Raw) {
	for _, o := range statsOptions {
		v, ok := body.Lookup(o.name)
		if !ok {
			continue
		}
		d, isDoc := v.Doc()
		switch {
		case o.name == "readConcern" && isDoc: // without afterClusterTime and atClusterTime, which differ each time
			b.BeginDoc(o.name)
			for name, v := range d.Fields() {
				if string(name) == "level" {
					b.ValueBytes(name, v)
				} else {
					b.ValueBytes(name, placeholder(v))
				}
			}
			b.End()
		case o.literal || o.name == "hint" && v.Type == bson.TypeDocument:
			b.Value(o.name, v)
		case o.name == "cursor" && isDoc && d.IsEmpty():
		case o.name == "cursor" && isDoc:
			b.BeginDoc(o.name)
			for name, v := range d.Fields() {
				b.ValueBytes(name, placeholder(v))
			}
			b.End()
		default:
			b.Value(o.name, placeholder(v))
		}
	}
}

// appendOtherNamespaces appends the collections that stages of the pipeline read or write beside its own.
func appendOtherNamespaces(b *bson.Builder, db string, x *explained.Explained) {
	seen := map[collection.Namespace]bool{}
	for i := range x.Pipeline.Involved {
		ns := x.Pipeline.Involved[i].NS
		if ns.DB == "" {
			ns.DB = db
		}
		if ns.Coll == "" || seen[ns] {
			continue
		}
		if len(seen) == 0 {
			b.BeginArray("otherNss")
		}
		seen[ns] = true
		b.BeginDoc("")
		b.String("db", ns.DB)
		b.String("coll", ns.Coll)
		b.End()
	}
	if len(seen) > 0 {
		b.End()
	}
}
