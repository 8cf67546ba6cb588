package plans

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/expr"
)

// identifiers replaces the names of databases, collections, fields and variables in the keys of $queryStats by their HMAC-SHA-256.
// Operators, names of parameters and placeholders stay.
// Manual: reference/operator/aggregation/queryStats#how--querystats-transforms-data-using-transformidentifiers.
type identifiers struct{ secret []byte }

// systemVariables are the variables that are not hashed.
var systemVariables = []string{"NOW", "CLUSTER_TIME", "ROOT", "CURRENT", "REMOVE", "DESCEND", "PRUNE", "KEEP", "SEARCH_META", "USER_ROLES"}

// parameters are the expression operators whose argument is a document of parameters. That of any other operator has the names of
// fields.
var parameters = func() map[string]bool {
	m := map[string]bool{"$cond": true, "$accumulator": true, "$top": true, "$topN": true, "$bottom": true, "$bottomN": true}
	for _, op := range expr.Operators {
		if op.Max == 0 {
			m[op.Name] = true
		}
	}
	return m
}()

// hash returns the hash of one name.
func (t identifiers) hash(name string) string {
	h := hmac.New(sha256.New, t.secret)
	h.Write([]byte(name))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// path returns a path whose names are hashed.
func (t identifiers) path(path string) string {
	names := strings.Split(path, ".")
	for i, name := range names {
		names[i] = t.hash(name)
	}
	return strings.Join(names, ".")
}

// key returns the key of an entry of $queryStats with hashed names.
func (t identifiers) key(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		inner, _ := it.Value.Doc()
		list, _ := it.Value.Array()
		switch string(it.Name) {
		case "queryShape":
			b.Raw("queryShape", t.shape(inner))
		case "otherNss":
			b.BeginArray("otherNss")
			for v := range list.Values() {
				ns, _ := v.Doc()
				b.Raw("", t.namespace(ns))
			}
			b.End()
		case "hint":
			if it.Value.Type == bson.TypeDocument {
				b.Raw("hint", t.fields(inner))
				continue
			}
			b.ValueBytes(it.Name, it.Value)
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return b.Doc()
}

// shape returns a query shape with hashed names.
func (t identifiers) shape(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		inner, isDoc := it.Value.Doc()
		list, isList := it.Value.Array()
		name := string(it.Name)
		switch {
		case name == "cmdNs":
			b.Raw(name, t.namespace(inner))
		case name == "key": // of a distinct
			path, _ := it.Value.Str()
			b.String(name, t.path(path))
		case isList:
			b.Array(name, t.stages(list))
		case isDoc && name != "collation":
			b.Raw(name, t.fields(inner))
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return b.Doc()
}

// namespace returns {db, coll} hashed.
func (t identifiers) namespace(ns bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range ns.Fields() {
		text, _ := v.Str()
		b.String(string(name), t.hash(text))
	}
	return b.Doc()
}

// stages returns a list of stages, or of filters, with hashed names.
func (t identifiers) stages(list bson.Raw) bson.Raw {
	b := bson.NewArrayBuilder(nil)
	for v := range list.Values() {
		d, ok := v.Doc()
		first, _ := d.First()
		if def := agg.FindStage(string(first.Name)); ok && def != nil {
			b.Raw("", t.stage(def, first.Value))
		} else {
			b.Value("", t.value("", v))
		}
	}
	return b.Doc()
}

// stage returns one stage with hashed names.
func (t identifiers) stage(def *agg.StageDef, arg bson.Value) bson.Raw {
	b, name := bson.NewBuilder(nil), def.Name
	d, isDoc := arg.Doc()
	text, isText := arg.Str()
	switch {
	case isText && slices.Contains(def.Names, ""):
		b.String(name, t.path(text))
	case !isDoc || arg.Type != bson.TypeDocument:
		b.Value(name, t.value(name, arg))
	default:
		b.BeginDoc(name)
		for it := d.Iter(); it.Next(); {
			field := string(it.Name)
			text, isText := it.Value.Str()
			list, isList := it.Value.Array()
			shown := field
			if def.OwnFields && field != def.NotOwn && !strings.HasPrefix(field, "$") {
				shown = t.path(field)
			}
			switch {
			case isText && slices.Contains(def.Names, field):
				b.String(shown, t.path(text))
			case isList && (field == "pipeline" || def.SameInput):
				b.Array(shown, t.stages(list))
			default:
				b.Value(shown, t.value(field, it.Value))
			}
		}
		b.End()
	}
	return b.Doc()
}

// fields returns a document of fields with hashed names.
func (t identifiers) fields(d bson.Raw) bson.Raw { return t.document("", d) }

// document returns the document that is the argument of an operator, or belongs to a field, with hashed names.
func (t identifiers) document(operator string, d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	first, _ := d.First()
	keep := parameters[operator] || strings.HasPrefix(string(first.Name), "$") && operator != ""
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		shown := name
		if !keep && !strings.HasPrefix(name, "$") {
			shown = t.path(name)
		}
		if name == "$jsonSchema" {
			b.String(name, "?object")
			continue
		}
		b.Value(shown, t.value(name, it.Value))
	}
	return b.Doc()
}

// value returns the value of a field, a parameter or an operator with hashed names.
func (t identifiers) value(of string, v bson.Value) bson.Value {
	if d, ok := v.Doc(); ok {
		return t.document(of, d).Value()
	}
	if list, ok := v.Array(); ok {
		b := bson.NewArrayBuilder(nil)
		for v := range list.Values() {
			b.Value("", t.value("", v))
		}
		return b.Doc().ArrayValue()
	}
	text, ok := v.Str()
	if !ok || !strings.HasPrefix(text, "$") {
		return v // a placeholder, a direction, the name of a type
	}
	variable, isVariable := strings.CutPrefix(text, "$$")
	if !isVariable {
		return mark("$" + t.path(text[1:]))
	}
	name, rest, dotted := strings.Cut(variable, ".")
	if !slices.Contains(systemVariables, name) {
		name = t.hash(name)
	}
	if dotted {
		name += "." + t.path(rest)
	}
	return mark("$$" + name)
}
