package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/text"
)

// TextOptions are the options of a text index.
// Manual: reference/command/createIndexes (options for text indexes).
type TextOptions struct {
	Weights          []TextWeight // sorted by name
	DefaultLanguage  string
	LanguageOverride string
	Version          int32

	language text.Language // DefaultLanguage
	// every is the weight of fields without a weight of their own: that of "$**", 0 if they are not indexed.
	every float64
}

// TextWeight is the weight of a field in a text index, by which a word there counts in the score. The name "$**"
// means every field with a string and has the zero Path.
type TextWeight struct {
	Name   string
	Path   path.Path
	Weight float64
}

func (t *TextOptions) equal(o *TextOptions) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.DefaultLanguage == o.DefaultLanguage && t.LanguageOverride == o.LanguageOverride &&
		slices.EqualFunc(t.Weights, o.Weights, func(a, b TextWeight) bool { return a.Name == b.Name && a.Weight == b.Weight })
}

// kindText is the index kind text: a document has an entry for every term in its weighted fields, with the term and
// its score, between the values of the plain fields before and after them.
// Manual: core/indexes/index-types/index-text.
var kindText = Kind{
	Name:      "text",
	Doc:       "core/indexes/index-types/index-text",
	Keys:      1, // 0: other words, before languages had stemmers and stop words
	check:     checkText,
	layout:    layoutText,
	print:     printText,
	keys:      textKeys,
	plainText: func(s *Spec, i int) bool { return s.fields[i] == "_fts" },
}

func checkText(p *parser) error {
	s := p.s
	t := &TextOptions{DefaultLanguage: "english", LanguageOverride: "language", Version: 3}
	s.Text = t
	if s.Collation != nil {
		return cannot("Text index only supports simple collation, but got %s. To create a text index with simple collation, explicitly specify it in the index options", s.Collation.Locale())
	}
	if err := p.textWeights(t); err != nil {
		return err
	}
	if name, ok := p.defaultLanguage.Str(); ok {
		if _, known := text.LanguageOf(name); !known {
			return cannot("default_language is not valid: unsupported language: \"%s\"", name)
		}
		t.DefaultLanguage = name
	}
	if name, ok := p.languageOverride.Str(); ok {
		if name == "" || name[0] == '$' {
			return cannot("language_override is not valid")
		}
		t.LanguageOverride = name
	}
	t.language, _ = text.LanguageOf(t.DefaultLanguage)
	if v := p.textVersion; v.Type != bson.TypeMissing {
		n, _ := v.AsInt64()
		if v.Type == bson.TypeDecimal128 || n < 1 || n > 3 {
			return cannot("bad textIndexVersion: %s", v)
		}
		t.Version = int32(n)
	}
	return p.textKey()
}

// textWeights sets the weights of a text index: the text fields of the key pattern, with weight 1, and the weights
// of the option weights.
func (p *parser) textWeights(t *TextOptions) error {
	add := func(name string, w float64) error {
		weight := TextWeight{Name: name, Weight: w}
		if name == "$**" {
			t.every = w
		} else {
			var err error
			if weight.Path, err = p.fieldPath(strings.TrimSuffix(name, ".$**")); err != nil {
				return err
			}
		}
		t.Weights = append(t.Weights, weight)
		return nil
	}
	switch v := p.weights; v.Type {
	case bson.TypeMissing:
	case bson.TypeDocument:
		for it := bson.Raw(v.Data).Iter(); it.Next(); {
			w, ok := it.Value.AsFloat()
			if !ok {
				return cannot("weight for text index needs numeric type")
			}
			if !(w > 0 && w < 1e9) {
				return cannot("text index weight must be in the exclusive interval (0, 1000000000) but found: %s", it.Value)
			}
			if err := add(string(it.Name), w); err != nil {
				return err
			}
		}
	case bson.TypeString, bson.TypeArray:
		if name, _ := v.Str(); name == "$**" { // every field, with weight 1
			if err := add(name, 1); err != nil {
				return err
			}
			break
		}
		return cannot("text index option 'weights' must be an object")
	default:
		return wrongType("weights", v, "object")
	}
	for i := range p.s.Parts {
		name := p.s.Parts[i].Name
		if p.s.Parts[i].Plugin != "text" || name == "_fts" ||
			slices.ContainsFunc(t.Weights, func(w TextWeight) bool { return w.Name == name }) {
			continue
		}
		if strings.HasSuffix(name, ".$**") {
			return cannot("Index key contains an illegal field name: '%s': a text index has $** only for all fields", name)
		}
		if err := add(name, 1); err != nil {
			return err
		}
	}
	if len(t.Weights) == 0 {
		return cannot("text index option 'weights' must specify fields or the wildcard")
	}
	slices.SortFunc(t.Weights, func(a, b TextWeight) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// textKey replaces all text fields of the key pattern by {_fts: "text", _ftsx: 1}, the form that MongoDB stores.
func (p *parser) textKey() error {
	s := p.s
	var parts []Part
	b, state := bson.NewBuilder(nil), 0 // state: before, in, after the text fields
	for it := s.Key.Iter(); it.Next(); {
		name := string(it.Name)
		if name == "_ftsx" {
			continue
		}
		if it.Value.Type != bson.TypeString {
			if state == 1 {
				state = 2
			}
			b.ValueBytes(it.Name, it.Value)
			for i := range s.Parts {
				if s.Parts[i].Name == name {
					parts = append(parts, s.Parts[i])
				}
			}
			continue
		}
		switch state {
		case 0:
			b.String("_fts", "text")
			b.Int32("_ftsx", 1)
			parts = append(parts, Part{Name: "_fts", Plugin: "text", Dir: 1}, Part{Name: "_ftsx", Plugin: "text", Dir: 1})
			state = 1
		case 2:
			return cannot("'text' fields in index must all be adjacent")
		}
	}
	s.Key, s.Parts = b.Doc(), parts
	return nil
}

func layoutText(s *Spec) {
	for i := range s.Parts {
		s.addKey(s.Parts[i].Name, s.Parts[i].Dir)
		if s.Parts[i].Plugin == "" {
			s.paths = append(s.paths, s.Parts[i].Path)
		}
	}
}

func printText(s *Spec, b *bson.Builder) {
	b.BeginDoc("weights")
	for _, w := range s.Text.Weights {
		if w.Weight == float64(int32(w.Weight)) {
			b.Int32(w.Name, int32(w.Weight))
		} else {
			b.Double(w.Name, w.Weight)
		}
	}
	b.End()
	b.String("default_language", s.Text.DefaultLanguage)
	b.String("language_override", s.Text.LanguageOverride)
	b.Int32("textIndexVersion", s.Text.Version)
}
