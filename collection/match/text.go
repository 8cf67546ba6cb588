package match

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var opText = Operator{Name: "$text", Where: Top, Parse: parseText, Doc: "reference/operator/query/text"}

func parseText(p *parser, a operand) (Node, error) {
	if p.nested {
		return nil, badValue("$text can only be applied to the top-level document")
	}
	d, ok := a.value.Doc()
	if !ok {
		return nil, badValue("$text expects an object")
	}
	n := &Text{}
	for it := d.Iter(); it.Next(); {
		name, v := string(it.Name), it.Value
		switch name {
		case "$search", "$language":
			s, ok := v.Str()
			if !ok || v.Type != bson.TypeString {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "\"%s\" had the wrong type. Expected string, found %s", name, v.Type)
			}
			if name == "$search" {
				n.Search, n.searches = s, true
			} else {
				n.Language = s
			}
		case "$caseSensitive", "$diacriticSensitive":
			on, ok := v.Boolean()
			if !ok {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "\"%s\" had the wrong type. Expected bool, found %s", name, v.Type)
			}
			if name == "$caseSensitive" {
				n.CaseSensitive = on
			} else {
				n.DiacriticSensitive = on
			}
		default:
			return nil, badValue("extra fields in $text")
		}
	}
	if !n.searches {
		return nil, mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"$search\"")
	}
	if n.Language != "" && !TextLanguage(n.Language) {
		return nil, badValue("$text query has invalid language: unsupported language: \"%s\" for text index version 3", n.Language)
	}
	return n, nil
}

// textLanguages are the languages that a $text accepts, by name and code, separated by spaces.
// Manual: reference/text-search-languages.
const textLanguages = " danish da dutch nl english en finnish fi french fr german de hungarian hu italian it" +
	" norwegian nb portuguese pt romanian ro russian ru spanish es swedish sv turkish tr none "

// TextLanguage reports whether text search supports a language, given by name or code in any letter case.
func TextLanguage(name string) bool {
	return name != "" && !strings.Contains(name, " ") && strings.Contains(textLanguages, " "+strings.ToLower(name)+" ")
}

// Text is the filter node of $text: the search string and its options. Only a text index can answer it: the index
// converts the words into terms by Language or its own language, and finds documents by these terms.
type Text struct {
	// Search is the search string of the client: words, "phrases" in quotes and -negations.
	Search string
	// Language overrides the language of the index; "" does not.
	Language                          string
	CaseSensitive, DiacriticSensitive bool

	searches bool
	matcher  TextMatcher
}

// TextMatcher evaluates $text on documents by the languages and weights of a text index. Implementations are safe
// for concurrent use.
type TextMatcher interface {
	// MatchText reports whether doc matches t.
	MatchText(t *Text, doc bson.Raw) bool
}

// BindText returns the filter with its $text evaluated by m.
func BindText(n Node, m TextMatcher) Node {
	switch n := n.(type) {
	case *Text:
		c := *n
		c.matcher = m
		return &c
	case *And:
		return newAnd(bindAll(n.list, m))
	case *Or:
		return &Or{bindAll(n.list, m)}
	}
	return n // $text does not occur elsewhere
}

func bindAll(list []Node, m TextMatcher) []Node {
	out := make([]Node, len(list))
	for i, c := range list {
		out[i] = BindText(c, m)
	}
	return out
}

// Matches implements Node: it calls the TextMatcher that BindText has set.
//
// Errors: 27 IndexNotFound without a TextMatcher.
func (n *Text) Matches(_ *mql.Env, doc bson.Raw, _ *expr.Scratch) (bool, error) {
	if n.matcher == nil {
		return false, mongoerr.New(mongoerr.IndexNotFound, "text index required for $text query")
	}
	return n.matcher.MatchText(n, doc), nil
}

// Children implements Node.
func (n *Text) Children() []Node { return nil }

// Append implements Node.
func (n *Text) Append(b *bson.Builder) {
	b.BeginDoc("$text")
	b.String("$search", n.Search)
	b.String("$language", n.Language)
	b.Bool("$caseSensitive", n.CaseSensitive)
	b.Bool("$diacriticSensitive", n.DiacriticSensitive)
	b.End()
}

func (n *Text) shape(dst []byte) []byte { return append(dst, "$text"...) }
