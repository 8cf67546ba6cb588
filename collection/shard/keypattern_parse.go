package shard

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
)

const (
	fieldsMax = 32 // of a compound index, which a shard key needs
	levelsMax = 3  // of a hierarchical key
)

// ParseKeyPattern parses the argument key of shardCollection: {a: "hashed"}; {a: 1, b: 1}; one hashed field among
// ranged ones; or, beyond MongoDB, two or three hashed fields, and a suffix behind hashed ones, {a: "hashed", b:
// {buckets: 400}}. The bytes of spec are copied.
// Errors: BadValue.
// Manual: reference/command/shardCollection.
func ParseKeyPattern(spec bson.Raw) (KeyPattern, error) {
	p := &pattern{spec: spec.Clone()}
	hashed := 0
	for name, v := range p.spec.Fields() {
		f, err := parseField(p.spec, string(name), v)
		if err != nil {
			return KeyPattern{}, err
		}
		for _, other := range p.fields {
			if other.Path.Conflicts(f.Path) {
				return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "Shard key %s contains the conflicting fields '%s' and '%s'",
					text(p.spec), other.Path, f.Path)
			}
		}
		if p.levels < len(p.fields) {
			return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "Shard key %s can have a suffix only as its last field", text(p.spec))
		}
		if f.Hashed {
			hashed++
		}
		if f.Buckets == 0 {
			p.levels++
		}
		p.fields = append(p.fields, f)
		if len(p.fields) > fieldsMax {
			return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "Shard key has more than %d fields", fieldsMax)
		}
	}
	switch n := p.levels; {
	case len(p.fields) == 0:
		return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "Shard key is empty")
	case n < len(p.fields) && (hashed < n || n == 0):
		return KeyPattern{}, mongoerr.New(mongoerr.BadValue, "Shard key %s can have a suffix only behind 'hashed' fields", text(p.spec))
	case hashed == n && n == 1:
		p.kind = Hashed
	case hashed == n && n <= levelsMax:
		p.kind = Hierarchical
	case hashed <= 1:
		p.kind = Ranged
	default:
		return KeyPattern{}, mongoerr.New(mongoerr.BadValue,
			"Shard key %s can contain at most one 'hashed' field beside numerical ones, or be a hierarchy of 2 to %d 'hashed' fields",
			text(p.spec), levelsMax)
	}
	return KeyPattern{p: p}, nil
}

func parseField(spec bson.Raw, name string, v bson.Value) (Field, error) {
	f := Field{}
	for part := range strings.SplitSeq(name, ".") {
		switch {
		case part == "":
			return f, mongoerr.New(mongoerr.BadValue, "Field %s contains empty parts", name)
		case part[0] == '$':
			return f, mongoerr.New(mongoerr.BadValue, "Field %s contains parts that start with '$'", name)
		}
	}
	buckets, suffix, err := bucketsOf(spec, name, v)
	if err != nil {
		return f, err
	}
	if s, ok := v.Text(); suffix {
		f.Buckets = buckets
	} else if ok && string(s) == "hashed" {
		f.Hashed = true
	} else if n, ok := v.AsInt64(); !ok || n != 1 {
		return f, mongoerr.New(mongoerr.BadValue,
			"Shard key %s can contain either a single 'hashed' field or multiple numerical fields set to a value of 1. "+
				"Failed to parse field %s", text(spec), name)
	}
	p, err := path.Compile(name)
	if err != nil {
		return f, mongoerr.New(mongoerr.BadValue, "Field %q cannot be a shard key field: %v", name, err)
	}
	f.Path = p
	return f, nil
}

// String returns the shard key in the form of MongoDB's messages: { a: 1.0, b: "hashed" }.
func (k KeyPattern) String() string { return text(k.Spec()) }

// text prints a shard key for messages. Long keys, names and strings are cut; of values other than strings, numbers,
// booleans and suffixes it shows the type.
func text(spec bson.Raw) string {
	var b strings.Builder
	b.WriteString("{ ")
	sep := ""
	if len(spec) > 0 {
		for name, v := range spec.Fields() {
			if b.Len() > 512 { // a client's text in our message
				b.WriteString(sep + "...")
				break
			}
			b.WriteString(sep)
			b.Write(name[:min(len(name), 128)])
			b.WriteString(": ")
			b.WriteString(valueText(v))
			sep = ", "
		}
	}
	return b.String() + " }"
}

func valueText(v bson.Value) string {
	if s, ok := v.Text(); ok {
		return fmt.Sprintf("%q", s[:min(len(s), 128)])
	}
	if n, ok := v.Int64(); ok {
		return fmt.Sprint(n)
	}
	if f, ok := v.AsFloat(); ok {
		if f == float64(int64(f)) {
			return fmt.Sprintf("%.1f", f)
		}
		return fmt.Sprint(f)
	}
	if t, ok := v.Boolean(); ok {
		return fmt.Sprint(t)
	}
	if d, ok := v.Doc(); ok && v.Type == bson.TypeDocument && d.Len() == 1 {
		if n, ok := d.Lookup(suffixField); ok {
			return fmt.Sprintf("{ %s: %s }", suffixField, valueText(n))
		}
	}
	return v.Type.String()
}
