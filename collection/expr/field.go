package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// source is the start of a field path.
type source uint8

const (
	fromCurrent source = iota // the document given to Eval
	fromRoot                  // $$ROOT
	fromSlot                  // a local variable
	fromVar                   // a variable of env.Vars
	fromNow
	fromClusterTime
	fromUserRoles
	fromNothing // $$REMOVE
)

// fieldPath is "$a.b", "$$var" or "$$var.a.b".
type fieldPath struct {
	from source
	slot int
	text string   // as printed
	path string   // dotted path below the start
	list []string // its components
}

// pathDepthMax is the maximal number of components of a field path.
// Manual: reference/limits#std-label-limit-nested-depth.
const pathDepthMax = 200

// parseField reads "$path" or "$$variable.path".
func (p *parser) parseField(text string) (Expr, error) {
	if text == "$" {
		return nil, mongoerr.New(16872, "'$' by itself is not a valid FieldPath")
	}
	if text[1] != '$' {
		if err := checkPath(text[1:]); err != nil {
			return nil, err
		}
		e := p.variable("CURRENT")
		f := *e
		f.text, f.path, f.list = text, text[1:], strings.Split(text[1:], ".")
		return &f, nil
	}
	if strings.HasSuffix(text, ".") && text != "$$." {
		return nil, mongoerr.New(40353, "FieldPath must not end with a '.'.")
	}
	name, path, dotted := strings.Cut(text[2:], ".")
	if err := checkVariable(name, false); err != nil {
		return nil, err
	}
	e := p.variable(name)
	if e != nil && e.from == fromClusterTime && p.env.ClusterTime == 0 {
		return nil, mongoerr.New(10071200, "Builtin variable '$$CLUSTER_TIME' is not available")
	}
	if e == nil {
		return nil, mongoerr.New(17276, "Use of undefined variable: %s", name)
	}
	switch e.from {
	case fromNow, fromClusterTime, fromUserRoles:
		if err := p.env.Cosmos.Check(cosmos.Variable, name); err != nil {
			return nil, err
		}
	}
	if e.from == fromNothing && !dotted {
		return Constant(bson.Value{}), nil
	}
	e.text = text
	if dotted {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		e.path, e.list = path, strings.Split(path, ".")
	}
	return e, nil
}

// variable returns the variable of a name in the innermost scope; nil if there is none.
func (p *parser) variable(name string) *fieldPath {
	for i := len(p.scope) - 1; i >= 0; i-- {
		if p.scope[i] == name {
			return &fieldPath{from: fromSlot, slot: i}
		}
	}
	if slot, ok := p.env.Vars.Slot(name); ok {
		return &fieldPath{from: fromVar, slot: slot}
	}
	switch name {
	case "CURRENT":
		return &fieldPath{from: fromCurrent}
	case "ROOT":
		return &fieldPath{from: fromRoot}
	case "NOW":
		return &fieldPath{from: fromNow}
	case "CLUSTER_TIME":
		return &fieldPath{from: fromClusterTime}
	case "USER_ROLES":
		return &fieldPath{from: fromUserRoles}
	case "REMOVE":
		return &fieldPath{from: fromNothing}
	}
	return nil
}

// checkPath validates a dotted path after the dollar sign.
func checkPath(path string) error {
	switch {
	case path == "":
		return mongoerr.New(40352, "FieldPath cannot be constructed with empty string")
	case strings.HasSuffix(path, "."):
		return mongoerr.New(40353, "FieldPath must not end with a '.'.")
	case strings.IndexByte(path, 0) >= 0:
		return mongoerr.New(16411, "FieldPath field names may not contain '\\0'.")
	}
	n := 0
	for part := range strings.SplitSeq(path, ".") {
		if part == "" {
			return mongoerr.New(15998, "FieldPath field names may not be empty strings.")
		}
		if part[0] == '$' && !bson.IsDBRefField(part) {
			return mongoerr.New(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		}
		if n++; n > pathDepthMax {
			return mongoerr.New(mongoerr.Overflow, "FieldPath is too long")
		}
	}
	return nil
}

// checkVariable validates the name of a variable. With define, for a name that a user defines, it must begin with a
// lower-case letter or a character beyond ASCII, or be CURRENT.
func checkVariable(name string, define bool) error {
	if name == "" {
		return mongoerr.New(mongoerr.FailedToParse, "empty variable names are not allowed")
	}
	if define && name == "CURRENT" {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(name)
	lower := r >= 'a' && r <= 'z' || r >= utf8.RuneSelf
	upper := r >= 'A' && r <= 'Z'
	if !lower && (define || !upper) {
		return mongoerr.New(mongoerr.FailedToParse, "'%s' starts with an invalid character for a user variable name", name)
	}
	for i := range len(name) {
		c := name[i]
		if c < utf8.RuneSelf && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return mongoerr.New(mongoerr.FailedToParse, "'%s' contains an invalid character for a variable name: '%c'", name, c)
		}
	}
	return nil
}

func (f *fieldPath) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	var v bson.Value
	switch f.from {
	case fromCurrent:
		if len(f.list) > 0 {
			return followDoc(env, doc, f.list, s)
		}
		v = doc.Value()
	case fromRoot:
		if s.Root != nil {
			doc = s.Root
		}
		v = doc.Value()
	case fromSlot:
		v = s.slots[f.slot]
	case fromVar:
		v = env.Vars.Get(f.slot)
	case fromNow:
		v = s.DateTime(env.NowMillis)
	case fromClusterTime:
		v = s.Timestamp(uint32(env.ClusterTime>>32), uint32(env.ClusterTime))
	case fromUserRoles:
		v = env.UserRoles
	}
	return follow(env, v, f.list, s)
}

// follow returns the value at the path names below the value v. An array on the path becomes an array of its
// elements' values; elements that are not documents or lack the path are left out. Numbers in names are field
// names here, not positions in arrays.
// Manual: core/document#dot-notation (aggregation).
//
// Errors: ExceededMemoryLimit; the reason why the command must end.
func follow(env *mql.Env, v bson.Value, names []string, s *Scratch) (bson.Value, error) {
	if len(names) == 0 {
		return v, nil
	}
	switch v.Type {
	case bson.TypeDocument:
		return followDoc(env, v.Data, names, s)
	case bson.TypeArray:
		b := s.newArray()
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			if it.Value.Type != bson.TypeDocument {
				continue
			}
			e, err := followDoc(env, it.Value.Data, names, s)
			if err == nil && !e.IsMissing() {
				err = s.element(env, b, e)
			}
			if err != nil {
				s.drop(b)
				return e, err
			}
		}
		return s.endArray(env, b)
	}
	return bson.Value{}, nil
}

func followDoc(env *mql.Env, d bson.Raw, names []string, s *Scratch) (bson.Value, error) {
	for i, name := range names {
		v, ok := d.Lookup(name)
		if !ok {
			return bson.Value{}, nil
		}
		if i == len(names)-1 {
			return v, nil
		}
		if v.Type != bson.TypeDocument {
			return follow(env, v, names[i+1:], s)
		}
		d = v.Data
	}
	return d.Value(), nil
}

func (f *fieldPath) Paths(add func(string)) {
	if f.from == fromCurrent || f.from == fromRoot {
		add(f.path)
	}
}

func (f *fieldPath) Append(b *bson.Builder, name string) { b.String(name, f.text) }

// FieldPath returns the dotted path of an expression that is a plain field of the document, such as "$a.b"; ok
// is false for any other.
func FieldPath(e Expr) (path string, ok bool) {
	f, ok := e.(*fieldPath)
	if !ok || f.from != fromCurrent && f.from != fromRoot || f.path == "" {
		return "", false
	}
	return f.path, true
}
