package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Scores collects the weight of each term of a document for a text index: the sum over the document's fields. The
// zero Scores is empty.
type Scores struct {
	terms map[string]float64
	order []string
}

// Add counts the terms of one string in a field with the given weight. A term counts less at each repetition, more
// if it is a large part of the text, and slightly more if it is the whole text.
// Manual: reference/operator/query/text#text-score.
func (s *Scores) Add(l Language, text string, weight float64) {
	type count struct{ n, frequency, part float64 }
	counts := map[string]*count{}
	var order []string
	total := 0.0
	l.Terms(text, func(term string) {
		c := counts[term]
		if c == nil {
			c = &count{part: 2}
			counts[term] = c
			order = append(order, term)
		}
		c.n++
		c.part /= 2
		c.frequency += c.part
		total++
	})
	if s.terms == nil {
		s.terms = map[string]float64{}
	}
	for _, term := range order {
		c := counts[term]
		score := weight * c.frequency * (0.5*c.n/total + 0.5)
		if strings.EqualFold(term, text) {
			score *= 1.1
		}
		if _, known := s.terms[term]; !known {
			s.order = append(s.order, term)
		}
		s.terms[term] += score
	}
}

// Each calls yield with each term of the document and its score, in the order of their first occurrence.
func (s *Scores) Each(yield func(term string, score float64) bool) {
	for _, t := range s.order {
		if !yield(t, s.terms[t]) {
			return
		}
	}
}

// Of returns the score of the document for a $text query: the sum of the scores of the query's terms.
func (s *Scores) Of(q *Query) float64 {
	sum := 0.0
	for _, t := range q.Terms {
		sum += s.terms[t]
	}
	return sum
}

// dropMarks removes diacritics and does not change the case.
func dropMarks(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}
