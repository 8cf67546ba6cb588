package index

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/text"
)

// textKeys generates an entry of a text index for every term of the document: the values of the plain fields before,
// the term, its score in the document, the values of the plain fields after.
func textKeys(g *generator) error {
	var scores text.Scores
	if err := g.s.Text.walk(g.doc, func(l text.Language, s string, weight float64) {
		scores.Add(l, s, weight)
	}); err != nil {
		return err
	}
	others := make([]bson.Value, len(g.s.paths))
	for i, p := range g.s.paths {
		v, ok := plainValue(g.doc.Value(), p)
		if !ok {
			return mongoerr.New(mongoerr.CannotBuildIndexKeys, "Field '%s' of text index contains an array in document: %s", p, g.doc.Clipped(errorTextMax))
		}
		others[i] = v
	}
	var err error
	terms := 0
	scores.Each(func(term string, score float64) bool {
		terms++
		n := 0
		for i := range g.s.Parts {
			switch part := &g.s.Parts[i]; {
			case part.Name == "_fts":
				g.value(g.arena.String(term))
			case part.Name == "_ftsx":
				g.value(g.arena.Double(score))
			default:
				g.value(others[n])
				n++
			}
		}
		err = g.end()
		return err == nil
	})
	if terms > 1 {
		g.arrays = make(MultikeyPaths, len(g.s.fields))
		for i, name := range g.s.fields {
			g.arrays[i].Path = path.Must(name)
			if name == "_fts" {
				g.arrays[i].Arrays = 1
			}
		}
	}
	return err
}

// plainValue returns the value at p, the path of a plain field of a text index, which may contain array positions.
// ok is false if the path reaches an array without naming a position, or one whose members could have a field with
// the position's name.
func plainValue(v bson.Value, p path.Path) (_ bson.Value, ok bool) {
	for next := 0; ; next++ {
		next, v = order.Descend(v, p, next)
		arr, isArray := v.Array()
		if !isArray {
			return v, true
		}
		if next == p.Len() || p.Component(next).Index < 0 {
			return v, false
		}
		for e := range arr.Values() {
			if d, isDoc := e.Doc(); isDoc && d.Has(p.Name(next)) {
				return v, false
			}
		}
		v, _ = p.Element(arr, next)
		if next+1 == p.Len() {
			return v, v.Type != bson.TypeArray
		}
	}
}

// walk calls yield with every string of doc that the text index covers, its language and its weight. A language
// field applies to its document and everything inside of it.
//
// Errors: 17261 and 17262 for a language that is no string or not supported.
func (t *TextOptions) walk(doc bson.Raw, yield func(l text.Language, s string, weight float64)) error {
	w := textWalk{t: t, yield: yield}
	return w.document(doc, nil, t.language)
}

type textWalk struct {
	t     *TextOptions
	yield func(l text.Language, s string, weight float64)
}

func (w *textWalk) document(doc bson.Raw, at []byte, l text.Language) error {
	if v, ok := doc.Lookup(w.t.LanguageOverride); ok {
		name, isText := v.Str()
		if !isText || v.Type != bson.TypeString {
			return mongoerr.New(17261, "found language override field in document with non-string type")
		}
		if l, ok = text.LanguageOf(name); !ok {
			return mongoerr.New(17262, "language override unsupported: %s", name)
		}
	}
	n, top := len(at), at == nil
	if top {
		at = make([]byte, 0, 64) // must not be nil below a field without a name
	}
	for it := doc.Iter(); it.Next(); {
		if !top {
			at = append(at[:n], '.')
		}
		at = append(at, it.Name...)
		// A field with a dot in its name is indexed only if all fields are, as no path of a weight can reach it.
		if w.leads(at) && (w.t.every > 0 || bytes.IndexByte(it.Name, '.') < 0) {
			if err := w.value(it.Value, at, l, false); err != nil {
				return err
			}
		}
		at = at[:n]
	}
	return nil
}

func (w *textWalk) value(v bson.Value, at []byte, l text.Language, inArray bool) error {
	switch v.Type {
	case bson.TypeString:
		if weight := w.weight(at); weight > 0 {
			s, _ := v.Str()
			w.yield(l, s, weight)
		}
	case bson.TypeDocument:
		return w.document(bson.Raw(v.Data), at, l)
	case bson.TypeArray:
		for it := bson.Raw(v.Data).Iter(); !inArray && it.Next(); {
			if err := w.value(it.Value, at, l, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// leads reports whether the path of a weighted field is at, or leads through it. Then the value at it may hold
// indexed strings.
func (w *textWalk) leads(at []byte) bool {
	if w.t.every > 0 {
		return true
	}
	for i := range w.t.Weights {
		if name := w.t.Weights[i].Path.String(); len(name) >= len(at) && name[:len(at)] == string(at) && (len(name) == len(at) || name[len(at)] == '.') {
			return true
		}
	}
	return false
}

func (w *textWalk) weight(at []byte) float64 {
	for i := range w.t.Weights {
		if x := &w.t.Weights[i]; x.Path.Len() > 0 && x.Path.String() == string(at) {
			return x.Weight
		}
	}
	return w.t.every
}

// TextQuery parses the search string of a $text for the index. language "" means the index's own; the caller must
// have checked other names.
func (s *Spec) TextQuery(search, language string, caseSensitive, diacriticSensitive bool) *text.Query {
	l := s.Text.language
	if language != "" {
		l, _ = text.LanguageOf(language)
	}
	// Diacritics are ignored since version 3, in lower and upper case. Manual: core/indexes/index-types/index-text/text-index-properties.
	old := s.Text.Version < 3
	return text.ParseQuery(search, l, text.Differ{Case: caseSensitive, Diacritics: diacriticSensitive || old, OtherCase: old})
}

// TextField returns the position of the term among the keystrings of a text index's entry, -1 for other indexes. The
// term's score follows. Spec.Bound encodes terms as strings.
func (s *Spec) TextField() int {
	for i, name := range s.fields {
		if name == "_fts" {
			return i
		}
	}
	return -1
}

// TextMatch reports whether a document that the text index found by a term matches the query. It checks phrases,
// negations and sensitivity, which the index does not store; without these it returns true.
func (s *Spec) TextMatch(doc bson.Raw, q *text.Query) bool {
	if !q.IsSensitive() {
		return true
	}
	return q.Match(func(yield func(string) bool) {
		more := true
		_ = s.Text.walk(doc, func(_ text.Language, str string, _ float64) { more = more && yield(str) })
	})
}

// TextScore returns the score of a document for a $text query, the value of {$meta: "textScore"}.
// Manual: reference/operator/query/text#text-score.
func (s *Spec) TextScore(doc bson.Raw, q *text.Query) float64 {
	var scores text.Scores
	_ = s.Text.walk(doc, func(l text.Language, str string, weight float64) { scores.Add(l, str, weight) })
	return scores.Of(q)
}
