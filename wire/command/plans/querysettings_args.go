package plans

import (
	"math"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// keyOrHash reads the key that a command on query settings names: by the hash of 64 hexadecimal digits, or by an example query
// with its database as $db. watch is the kind of the key, "" for similar; a hash names settings of any kind. Without an
// example, the query and the shape of the key are nil.
// Errors: BadValue (2) and InvalidLength (16) for an invalid hash, TypeMismatch (14), errors of parseExample.
func keyOrHash(c *command.Call, watch string, check func(*command.Def, *explained.Explained) error) (k watchKey, err error) {
	if s, ok := c.Value.Str(); ok && c.Value.Type == bson.TypeString {
		hash := strings.ToUpper(s)
		if strings.Trim(hash, "0123456789ABCDEF") != "" {
			return k, mongoerr.New(mongoerr.BadValue, "a query shape hash has hexadecimal digits only, got: %s", s)
		}
		if len(hash) != 64 {
			return k, mongoerr.New(mongoerr.InvalidLength, "a query shape hash has 64 hexadecimal digits, got %d", len(hash))
		}
		if watch != "" {
			return k, mongoerr.New(mongoerr.BadValue, "watch needs an example query in place of a hash")
		}
		return watchKey{kind: watchSimilar, hash: hash}, nil
	}
	d, ok := c.Value.Doc()
	if !ok || c.Value.Type != bson.TypeDocument {
		return k, mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string", "object")
	}
	e, err := parseExample(c, d.Clone(), check)
	if err != nil {
		return k, err
	}
	return e.key(watchKindNamed(watch)), nil
}

// example is a query that stands for the reads with the same key.
type example struct {
	call         *command.Call // as if it had sent the query
	x            *explained.Explained
	query, shape bson.Raw
}

// key returns the key of a kind.
func (e *example) key(kind watchKind) watchKey {
	return watchKey{kind, kind.keyOf(e.call, e.x, e.shape), e.query, e.shape}
}

// parseExample reads an example query, with its database as $db. If check is not nil, it also refuses a query that check
// refuses.
// Errors: 7746402 for a command that cannot have settings, IDLFailedToParse (40414) without $db, errors of check and
// of the example.
func parseExample(c *command.Call, query bson.Raw, check func(*command.Def, *explained.Explained) error) (*example, error) {
	first, _ := query.First()
	def := c.Server.Lookup(string(first.Name))
	if def == nil || !def.Facts.Has(command.Settable) {
		return nil, mongoerr.New(7746402, "query settings are for find, distinct and aggregate, not for %q", first.Name)
	}
	v := query.Get("$db")
	if v.IsNullish() {
		return nil, mongoerr.MissingField(c.Field(c.Name()) + ".$db")
	}
	db, ok := v.Str()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(c.Name())+".$db", v.Type.String(), "string")
	}
	if err := collection.CheckDatabaseName(db); err != nil {
		return nil, err
	}
	part, err := c.Part(db, query)
	if err == nil {
		err = part.Err
	}
	if err != nil {
		return nil, err
	}
	inner := *c
	inner.DB = db
	inner.Become(def, query)
	x, err := def.Explain(&inner, part.Request)
	if err != nil {
		return nil, err
	}
	if x.Pipeline != nil {
		if _, err := agg.Parse(c.Env(), x.Pipeline.Stages, agg.Options{NS: x.Ns}); err != nil {
			return nil, err
		}
	}
	if check != nil {
		if err := check(def, x); err != nil {
			return nil, err
		}
	}
	shape, err := queryShape(&inner, x)
	if err != nil {
		return nil, err
	}
	return &example{&inner, x, query, shape}, nil
}

// mayHaveSettings refuses a query that cannot have query settings.
// Errors: 8584900 for the server's own collections, 7746606 for a lookup by _id.
func mayHaveSettings(def *command.Def, x *explained.Explained) error {
	if ownCollection(x.Ns) {
		return mongoerr.New(8584900, "query settings cannot be set for %s, which belongs to the server", x.Ns)
	}
	if def.Op == command.OpQuery && findsByID(x) {
		return mongoerr.New(7746606, "query settings cannot be set for a lookup by _id, which has one plan only")
	}
	return nil
}

// ownCollection reports whether a collection belongs to the server.
func ownCollection(ns collection.Namespace) bool {
	return collection.IsInternal(ns.DB) || strings.HasPrefix(ns.Coll, "system.")
}

// findsByID reports whether a query finds one document by its _id.
func findsByID(x *explained.Explained) bool {
	f := &x.Find
	if f.Filter.Len() != 1 || f.Skip > 0 || !f.Hint.IsMissing() || !f.Min.IsEmpty() || !f.Max.IsEmpty() || f.ShowRecordID {
		return false
	}
	first, _ := f.Filter.First()
	if string(first.Name) != "_id" || first.Value.Type == bson.TypeRegex {
		return false
	}
	d, ok := first.Value.Doc()
	if !ok {
		return true
	}
	op, _ := d.First()
	return !strings.HasPrefix(string(op.Name), "$") || d.Len() == 1 && string(op.Name) == "$eq"
}

// settingsArg reads the argument settings of setQuerySettings, and returns it in a normalized form, in which
// indexHints is an array.
// Errors: 8727502 without any setting, BadValue (2), FailedToParse (9), TypeMismatch (14), errors of indexHintArg.
func settingsArg(c *command.Call, d bson.Raw) (bson.Raw, error) {
	if d.IsEmpty() {
		return nil, mongoerr.New(8727502, "settings names nothing to be set: give indexHints, queryFramework, reject or runaway")
	}
	b := bson.NewBuilder(nil)
	err := c.ReadFields("settings", d,
		arguments.By("indexHints", func(v bson.Value) error { return indexHintsArg(c, b, v) }),
		arguments.By("queryFramework", func(v bson.Value) error {
			s, err := c.EnumArg("settings.queryFramework", v, "classic", "sbe")
			if s != "" {
				b.String("queryFramework", s)
			}
			return err
		}),
		arguments.By("reject", func(bson.Value) error {
			v := d.Get("reject") // null is an error
			reject, ok := v.Boolean()
			if !ok {
				return mongoerr.WrongType(c.Field("settings.reject"), v.Type.String(), "bool")
			}
			b.Bool("reject", reject)
			return nil
		}).WithNull(),
		arguments.By("runaway", func(v bson.Value) error { return runawayArg(c, b, v) }),
		arguments.By("durationSecs", func(v bson.Value) error {
			n, err := c.LongArg("settings.durationSecs", v)
			if err == nil {
				err = arguments.Between("settings.durationSecs", n, 1, math.MaxInt32)
			}
			b.DateTime("expireAt", c.Cluster.Now().UnixMilli()+n*1000)
			return err
		}),
		arguments.By("comment", func(bson.Value) error {
			b.Value("comment", d.Get("comment")) // may be null
			return nil
		}).WithNull(),
		arguments.Ignored("serialization_context"),
	)
	return b.Doc(), err
}

// runawayArg reads the setting runaway: the maximum of request units of a read, and what happens there.
func runawayArg(c *command.Call, b *bson.Builder, v bson.Value) error {
	const field = "settings.runaway"
	d, err := c.DocArg(field, v)
	if err != nil {
		return err
	}
	limit, rule := ratelimit.MicroRU(0), ratelimit.RunawayRule{}
	args := append(c.RunawayFields(field, &rule), c.RequestUnitsField(field, "maxRequestUnits", &limit).Required())
	if err = c.ReadFields(field, d, args...); err == nil {
		err = command.CheckRunaway(field, rule)
	}
	b.BeginDoc("runaway")
	b.Double("maxRequestUnits", limit.Exact())
	command.AppendRunaway(b, rule)
	b.End()
	return err
}

// indexHintsArg reads the setting indexHints, one hint or an array of hints, and appends it to b as an array.
// Errors: 7746608 for two hints on one collection, errors of indexHintArg.
func indexHintsArg(c *command.Call, b *bson.Builder, v bson.Value) error {
	hints := []bson.Value{v}
	if list, ok := v.Array(); ok {
		hints = hints[:0]
		for v := range list.Values() {
			hints = append(hints, v)
		}
	}
	seen := map[collection.Namespace]bool{}
	b.BeginArray("indexHints")
	for _, v := range hints {
		ns, indexes, err := indexHintArg(c, v)
		if err != nil {
			return err
		}
		if seen[ns] {
			return mongoerr.New(7746608, "indexHints names the collection %s twice", ns)
		}
		seen[ns] = true
		b.BeginDoc("")
		b.BeginDoc("ns")
		b.String("db", ns.DB)
		b.String("coll", ns.Coll)
		b.End()
		b.Array("allowedIndexes", indexes)
		b.End()
	}
	b.End()
	return nil
}

// indexHintArg reads one index hint: {ns: {db, coll}, allowedIndexes: [name or key pattern, …]}.
// Errors: FailedToParse (9), TypeMismatch (14), IDLFailedToParse (40414), 8727500 and 8727501 for an ns that lacks
// the database or the collection.
func indexHintArg(c *command.Call, v bson.Value) (ns collection.Namespace, indexes bson.Raw, err error) {
	field := c.Field("settings.indexHints")
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return ns, nil, mongoerr.WrongType(field, v.Type.String(), "array", "object")
	}
	const name = "settings.indexHints"
	named := false
	err = c.ReadFields(name, d,
		arguments.By("ns", func(v bson.Value) error {
			d, ok := v.Doc()
			if !ok || v.Type != bson.TypeDocument {
				return mongoerr.WrongType(field+".ns", v.Type.String(), "object")
			}
			return c.ReadFields(name+".ns", d,
				arguments.String("db", &ns.DB),
				arguments.String("coll", &ns.Coll),
			)
		}).Given(&named),
		arguments.By("allowedIndexes", func(v bson.Value) error {
			list, ok := v.Array()
			if !ok {
				return mongoerr.WrongType(field+".allowedIndexes", v.Type.String(), "array")
			}
			indexes = list
			return nil
		}),
	)
	switch {
	case err != nil:
	case !named:
		err = mongoerr.MissingField(field + ".ns")
	case ns.DB == "":
		err = mongoerr.New(8727500, "the ns of an index hint has to name its database: db")
	case ns.Coll == "":
		err = mongoerr.New(8727501, "the ns of an index hint has to name its collection: coll")
	case indexes == nil:
		err = mongoerr.MissingField(field + ".allowedIndexes")
	default:
		err = collection.CheckNamespace(ns)
	}
	if err != nil {
		return ns, nil, err
	}
	for v := range indexes.Values() {
		if v.Type != bson.TypeString && v.Type != bson.TypeDocument {
			return ns, nil, mongoerr.New(mongoerr.FailedToParse, "an allowed index is a name or a key pattern, not of type %s", v.Type)
		}
	}
	return ns, indexes, nil
}

// settingsFields lists the fields of query settings in the order in which the reply shows them.
var settingsFields = [...]string{"indexHints", "queryFramework", "reject", "runaway", "expireAt", "comment"}

// mergedSettings returns earlier settings with the fields of a change replaced. They expire only if the change does.
func mergedSettings(old, change bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for _, name := range settingsFields {
		v, ok := change.Lookup(name)
		if !ok && name != "expireAt" {
			v, ok = old.Lookup(name)
		}
		if ok {
			b.Value(name, v)
		}
	}
	return b.Doc()
}

// effectiveSettings returns query settings without the fields that have no effect: hints that allow no index,
// reject: false, and a runaway without a maximum.
// Errors: 7746604 if at most a comment remains.
func effectiveSettings(d bson.Raw) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	says := false
	for _, name := range settingsFields {
		v, ok := d.Lookup(name)
		if !ok || name == "reject" && !v.Truthy() {
			continue
		}
		if d, isDoc := v.Doc(); isDoc && name == "runaway" && command.RequestUnitsOf(d.Get("maxRequestUnits")) == 0 {
			continue
		}
		if list, isArray := v.Array(); isArray && name == "indexHints" {
			hints := bson.NewArrayBuilder(nil)
			n := 0
			for v := range list.Values() {
				hint, _ := v.Doc()
				if allowed, _ := hint.Get("allowedIndexes").Array(); !allowed.IsEmpty() {
					hints.Value("", v)
					n++
				}
			}
			if n == 0 {
				continue
			}
			v = hints.Doc().ArrayValue()
		}
		says = says || name != "comment" && name != "expireAt"
		b.Value(name, v)
	}
	if !says {
		return nil, mongoerr.New(7746604, "the settings would change nothing: to take settings away use removeQuerySettings")
	}
	return b.Doc(), nil
}
