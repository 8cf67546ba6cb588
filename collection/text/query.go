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

	language                          Language
	caseSensitive, diacriticSensitive bool
	words                             []string // positive words as written, for case and diacritics
	negatedWords                      []string
}

// ParseQuery reads the search string of a $text: words, "phrases" in quotes, and -negations of both. A minus sign
// inside of a word splits the word.
// Manual: reference/operator/query/text#-search-field.
func ParseQuery(search string, l Language, caseSensitive, diacriticSensitive bool) *Query {
	q := &Query{language: l, caseSensitive: caseSensitive, diacriticSensitive: diacriticSensitive}
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
	return q.caseSensitive || q.diacriticSensitive || len(q.Negated)+len(q.Phrases)+len(q.NegatedPhrases) > 0
}

// Match reports whether a document that has one of the terms also fulfils the rest of the query: phrases, negations
// and sensitivity to case and diacritics. texts yields all indexed strings of the document.
func (q *Query) Match(texts func(yield func(s string) bool)) bool {
	phrases := make([]bool, len(q.Phrases))
	found, refused := !(q.caseSensitive || q.diacriticSensitive), false
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
	if !q.caseSensitive {
		word = strings.ToLower(word)
	}
	return q.fold(q.language.rules.stemmed(word))
}

func (q *Query) fold(s string) string {
	switch {
	case q.caseSensitive && q.diacriticSensitive:
		return s
	case q.diacriticSensitive:
		return strings.ToLower(s)
	case q.caseSensitive:
		return dropMarks(s)
	}
	return Fold(s)
}
