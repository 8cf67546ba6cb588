package exec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/plan"
)

// textMaker makes documents with unusual texts and filters by regular expressions.
type textMaker struct {
	*rand.Rand
	arrays bool
}

func (m textMaker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m textMaker) text() (s string) {
	for range m.IntN(4) {
		s += m.pick("a", "b", "ab", "B", "é", "\n", "\x00", "\x00\xff", "\xff", "7")
	}
	return s
}

// put adds a field with a text, rarely another value or none.
func (m textMaker) put(b *bson.Builder, name string) {
	var a bson.Arena
	switch m.IntN(12) {
	case 0:
	case 1:
		b.Null(name)
	case 2:
		b.Int32(name, 7)
	case 3:
		v := a.String(m.text())
		v.Type = bson.TypeSymbol
		b.Value(name, v)
	case 4:
		b.Value(name, a.Regex("b$", ""))
	case 5:
		if m.arrays {
			b.BeginArray(name)
			b.String("", m.text())
			b.String("", m.text())
			b.End()
			return
		}
		b.String(name, "")
	default:
		b.String(name, m.text())
	}
}

func (m textMaker) doc(id int) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("_id", int32(id))
	m.put(b, "a")
	m.put(b, "b")
	return b.Doc()
}

func (m textMaker) pattern() (pattern, options string) {
	pattern = m.pick("b$", "ab", "^a", "^a.*b", "a.*b", "[ab]b$", "é", "7$", "a|7", `\x00`, `^$`, "a(?=b)", "b\n", `a\z`, `.`, `\bab`)
	return pattern, m.pick("", "", "", "i", "m", "s", "x")
}

// filter returns conditions on both fields: one or several regular expressions, and others.
func (m textMaker) filter() bson.Raw {
	var a bson.Arena
	b := bson.NewBuilder(nil)
	for _, name := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "a"}}[m.IntN(4)] {
		switch m.IntN(6) {
		case 0:
			b.BeginDoc(name)
			b.Value("$not", a.Regex(m.pattern()))
			b.End()
		case 1:
			b.BeginDoc(name)
			b.String("$gte", m.text())
			b.Value("$regex", a.Regex(m.pattern()))
			b.End()
		case 2:
			b.BeginDoc(name)
			b.String("$ne", m.text())
			b.End()
		default:
			b.Value(name, a.Regex(m.pattern()))
		}
	}
	return b.Doc()
}

// TestRegexOnKeys compares plans that test regular expressions on the bytes of keys with the collection scan, on texts
// with zero bytes, bytes that are no UTF-8 and newlines, symbols, regular expressions and other values.
func TestRegexOnKeys(t *testing.T) {
	for _, arrays := range []bool{false, true} {
		t.Run(fmt.Sprint("arrays ", arrays), func(t *testing.T) {
			m := textMaker{rand.New(rand.NewPCG(3, 4)), arrays}
			w := newWorld(t, `{_id: "hashed"}`, 2, `{key: {a: 1}, name: "a"}`, `{key: {a: -1}, name: "down"}`, `{key: {b: 1, a: -1}, name: "ba"}`, `{key: {a: 1, b: 1}, name: "ab"}`,
				`{key: {"$**": 1}, name: "all"}`, `{key: {a: 1}, name: "en", collation: {locale: "en", strength: 2}}`)
			for i := range 120 {
				w.insert(m.doc(i))
			}
			for range 300 {
				f := plan.Find{Filter: m.filter()}
				if m.IntN(3) == 0 {
					b := bson.NewBuilder(nil)
					b.Int32("_id", 0)
					b.Int32(m.pick("a", "b"), 1)
					f.Projection = b.Doc()
				}
				w.compare(f)
				w.compareKeys(f.Filter)
			}
			if n := w.used["IXSCAN with a filter"]; n < 100 && !arrays {
				t.Errorf("only %d scans had a filter", n)
			}
		})
	}
}
