package text

import (
	"slices"
	"strings"
)

// Query is a parsed search string. Immutable.
type Query struct {
	// Terms are looked up in the text index: a document matches if it has one of them. They include the words of
	// phrases.
	Terms []string
	// Negated terms must not occur.
	Negated []string
	// Phrases must all occur, NegatedPhrases must not, as written.
	Phrases, NegatedPhrases []string

	language     Language
	differ       Differ
	words        []string // positive words as written, for case and diacritics
	negatedWords []string
}

// Differ is the set of properties by which two letters differ for a query.
type Differ struct {
	Case       bool // a and A
	Diacritics bool // e and é
	OtherCase  bool // é and É: in a text index of version 1 or 2, the case is ignored for the letters of ASCII only
}

// ParseQuery reads the search string of a $text: words, "phrases" in quotes, and -negations of both. A minus sign
// inside of a word splits the word.
// Manual: reference/operator/query/text#-search-field.
func ParseQuery(search string, l Language, differ Differ) *Query {
	q := &Query{language: l, differ: differ}
	for len(search) > 0 {
		i := strings.IndexByte(search, '"')
		if i < 0 {
			q.text(search)
			break
		}
		before := search[:i]
		negated := strings.HasSuffix(before, "-") && (len(before) == 1 || before[len(before)-2] == ' ')
		q.text(strings.TrimSuffix(before, "-"))
		search = search[i+1:]
		phrase := search
		if end := strings.IndexByte(search, '"'); end >= 0 {
			phrase, search = search[:end], search[end+1:]
		} else {
			search = ""
		}
		switch {
		case strings.TrimSpace(phrase) == "":
		case negated:
			q.NegatedPhrases = append(q.NegatedPhrases, phrase)
		default:
			q.Phrases = append(q.Phrases, phrase)
			q.words, q.Terms = q.addWords(q.words, q.Terms, phrase)
		}
	}
	return q
}

// text parses words outside of quotes.
func (q *Query) text(s string) {
	for _, part := range strings.Fields(s) {
		if rest, negated := strings.CutPrefix(part, "-"); negated {
			q.negatedWords, q.Negated = q.addWords(q.negatedWords, q.Negated, rest)
			continue
		}
		q.words, q.Terms = q.addWords(q.words, q.Terms, part)
	}
}

func (q *Query) addWords(words, terms []string, s string) ([]string, []string) {
	q.language.Tokens(s, func(token string, _ int) {
		term := q.language.Term(token)
		if term == "" {
			return
		}
		words = append(words, token)
		if !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	})
	return words, terms
}

// IsSensitive reports whether the index alone cannot determine which documents match.
func (q *Query) IsSensitive() bool {
	return q.differ != (Differ{}) || len(q.Negated)+len(q.Phrases)+len(q.NegatedPhrases) > 0
}

// Match reports whether a document that has one of the terms also fulfils the rest of the query: phrases, negations
// and sensitivity to case and diacritics. texts yields all indexed strings of the document.
func (q *Query) Match(texts func(yield func(s string) bool)) bool {
	phrases := make([]bool, len(q.Phrases))
	found, refused := q.differ == (Differ{}), false
	texts(func(s string) bool {
		folded := q.fold(s)
		for i, p := range q.Phrases {
			phrases[i] = phrases[i] || strings.Contains(folded, q.fold(p))
		}
		for _, p := range q.NegatedPhrases {
			refused = refused || strings.Contains(folded, q.fold(p))
		}
		if !found || len(q.negatedWords) > 0 {
			q.language.Tokens(s, func(token string, _ int) {
				found = found || q.contains(q.words, token)
				refused = refused || q.contains(q.negatedWords, token)
			})
		}
		return !refused
	})
	return found && !refused && !slices.Contains(phrases, false)
}

// contains compares stems with the query's own sensitivity.
func (q *Query) contains(words []string, token string) bool {
	for _, w := range words {
		if q.fold(w) == q.fold(token) || q.stemmed(w) == q.stemmed(token) {
			return true
		}
	}
	return false
}

func (q *Query) stemmed(word string) string {
	if !q.differ.Case {
		word = q.lower(word)
	}
	return q.fold(q.language.rules.stemmed(word))
}

func (q *Query) fold(s string) string {
	switch {
	case q.differ.Case && q.differ.Diacritics:
		return s
	case q.differ.Diacritics:
		return q.lower(s)
	case q.differ.Case:
		return dropMarks(s)
	}
	return Fold(s)
}

// lower converts to lower case the letters whose case is ignored.
func (q *Query) lower(s string) string {
	if !q.differ.OtherCase {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}
