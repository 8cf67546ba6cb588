package path

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
)

// node is a decoded value for the naive walker of FuzzWalk: scalars keep their bson.Value.
type node struct {
	value  bson.Value
	kind   byte // 'd' document, 'a' array, 's' scalar, 'm' missing
	names  []string
	fields []node
}

func decode(v bson.Value) node {
	n := node{value: v, kind: 's'}
	switch v.Type {
	case bson.TypeMissing:
		n.kind = 'm'
	case bson.TypeDocument, bson.TypeArray:
		n.kind = 'd'
		if v.Type == bson.TypeArray {
			n.kind = 'a'
		}
		for name, w := range bson.Raw(v.Data).Fields() {
			n.names = append(n.names, string(name))
			n.fields = append(n.fields, decode(w))
		}
	}
	return n
}

func (n node) get(name string) node {
	for i, m := range n.names {
		if n.kind == 'd' && m == name {
			return n.fields[i]
		}
	}
	return node{kind: 'm'}
}

// naive returns the values that a walk of the path names must yield under the rule a, each as text with its trail.
func naive(n node, names []string, a Arrays, inArray bool, trail []int) []string {
	one := func(v bson.Value) []string {
		s := ejson.ValueString(v)
		if len(trail) > 0 {
			s += fmt.Sprint(trail)
		}
		return []string{s}
	}
	if len(names) == 0 {
		switch {
		case n.kind == 'a' && !inArray && a >= LeafOnly:
			if len(n.fields) == 0 && a == LeafOnly {
				return one(bson.Value{Type: bson.TypeUndefined})
			}
			var out []string
			for i, e := range n.fields {
				out = append(out, naive(e, nil, a, true, append(trail[:len(trail):len(trail)], i))...)
			}
			if a == TraverseLeaf {
				out = append(out, one(n.value)...)
			}
			return out
		case n.kind == 'm' && a == Stop:
			return nil
		case n.kind == 'm' && a == LeafOnly:
			return one(bson.Null)
		}
		return one(n.value)
	}
	switch n.kind {
	case 'd':
		return naive(n.get(names[0]), names[1:], a, false, trail)
	case 'a':
		if a == LeafOnly && len(n.fields) == 0 {
			return one(bson.Null)
		}
		at := -1
		if i, err := strconv.Atoi(names[0]); err == nil && strconv.Itoa(i) == names[0] && i >= 0 && i < len(n.fields) && a != Stop {
			at = i
		}
		var out []string
		for i, e := range n.fields {
			trail := append(trail[:len(trail):len(trail)], i)
			if a == LeafOnly && at >= 0 {
				if i == at {
					out = append(out, position(e, names[1:], a, trail)...)
				}
				continue
			}
			if e.kind == 'd' {
				out = append(out, naive(e, names, a, true, trail)...)
			} else if a == LeafOnly {
				out = append(out, fmt.Sprint("null", trail))
			}
			if i == at {
				out = append(out, position(e, names[1:], a, trail)...)
			}
		}
		return out
	}
	return naive(node{kind: 'm'}, nil, a, inArray, trail)
}

func position(e node, names []string, a Arrays, trail []int) []string {
	if len(names) > 0 && e.kind == 's' {
		if a == LeafOnly {
			return []string{fmt.Sprint("null", trail)}
		}
		return nil
	}
	return naive(e, names, a, len(names) == 0, trail)
}

// FuzzWalk compares Walk under every rule with a walker over decoded values, and the values in the result of Lookup
// with those that Walk yields under the Stop rule.
func FuzzWalk(f *testing.F) {
	for _, s := range []string{`{}`, `{a: {b: {"0": [1, {b: 2}]}}}`, `{a: [{b: 1}, {c: 2}, 5, [{b: 3}], {b: []}, {"0": 4}, {b: [[1], 2]}]}`,
		`{"0": [[{b: 1}, [2]], {"1": {b: null}}]}`, `{a: [], b: [[]], "": {"": 1}}`} {
		d := bsontest.Doc(f, s)
		for _, p := range []string{"a", "a.b", "a.0", "a.0.b", "a.b.0", "a.1.b.0", "0.0.b", "0.0", "0.1.b", "0.0.1", "b", "b.0", ".", ""} {
			f.Add([]byte(d), p)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		doc, err := bson.Parse(raw, bson.Limits{})
		if err != nil || len(raw) > 2000 {
			return
		}
		p, err := Compile(text)
		if err != nil {
			return
		}
		names := strings.Split(text, ".")
		tree := decode(doc.Value())
		for a := Traverse; a <= TraverseLeaf; a++ {
			want := strings.Join(naive(tree, names, a, false, nil), " ")
			if got := walkText(doc, p, a); got != want {
				t.Fatalf("rule %d, %q in %s:\n got %s\nwant %s", a, text, ejson.String(doc), got, want)
			}
		}
		var arena bson.Arena
		var flat []string
		flatten(p.Lookup(doc, &arena), tree, names, func(v bson.Value) { flat = append(flat, ejson.ValueString(v)) })
		var walked []string
		p.Walk(doc, Stop, func(v bson.Value, _ []int32) bool {
			walked = append(walked, ejson.ValueString(v))
			return true
		})
		if strings.Join(flat, " ") != strings.Join(walked, " ") {
			t.Fatalf("%q in %s: Lookup %s, Walk %s", text, ejson.String(doc), flat, walked)
		}
	})
}

// flatten calls add with the single values in the result of Lookup. It expands those arrays that Lookup made, which
// it finds by the decoded document n.
func flatten(got bson.Value, n node, names []string, add func(bson.Value)) {
	switch {
	case got.IsMissing():
	case len(names) == 0:
		add(got)
	case n.kind == 'd':
		flatten(got, n.get(names[0]), names[1:], add)
	case n.kind == 'a':
		arr, _ := got.Array()
		it := arr.Iter()
		for _, e := range n.fields {
			if e.kind == 'd' && !lookupTree(e, names) {
				continue
			} else if e.kind == 'd' && it.Next() {
				flatten(it.Value, e, names, add)
			}
		}
		if it.Next() {
			add(bson.MaxKey) // one too many
		}
	}
}

// lookupTree reports whether Lookup returns a value, for a decoded value n and the rest of a path.
func lookupTree(n node, names []string) bool {
	switch {
	case len(names) == 0:
		return n.kind != 'm'
	case n.kind == 'a':
		return true
	}
	return n.kind == 'd' && lookupTree(n.get(names[0]), names[1:])
}

// FuzzPath compares operations on paths (Prefix, Suffix, HasPrefix, Equal and others) with the same operations on their
// texts.
func FuzzPath(f *testing.F) {
	f.Add("a.b", "a")
	f.Add("a.b.0", "a.b")
	f.Add("ab", "a")
	f.Add("", ".")
	f.Fuzz(func(t *testing.T, s, u string) {
		p, err := Compile(s)
		if (err != nil) != strings.Contains(s, "\x00") {
			t.Fatal(err)
		}
		q, err2 := Compile(u)
		if err != nil || err2 != nil {
			return
		}
		names := strings.Split(s, ".")
		if p.String() != s || p.Len() != len(names) || p.Last() != names[len(names)-1] || p.First() != names[0] {
			t.Fatalf("%q compiled to %v", s, p)
		}
		for i := 0; i <= p.Len(); i++ {
			pre, suf := p.Prefix(i), p.Suffix(i)
			if pre.String() != strings.Join(names[:i], ".") || suf.String() != strings.Join(names[i:], ".") || pre.Len() != i {
				t.Fatalf("%q cut at %d: %q, %q", s, i, pre, suf)
			}
			if !p.HasPrefix(pre) {
				t.Fatalf("%q has no prefix %q", s, pre)
			}
			if i > 0 && i < p.Len() && !pre.Child(suf.String()).Equal(p) {
				t.Fatalf("%q and %q make %q", pre, suf, pre.Child(suf.String()))
			}
		}
		if want := s == u || strings.HasPrefix(s, u+"."); p.HasPrefix(q) != want {
			t.Fatalf("HasPrefix(%q, %q) is not %v", s, u, want)
		}
		if p.Equal(q) != (s == u) {
			t.Fatalf("Equal(%q, %q)", s, u)
		}
	})
}
