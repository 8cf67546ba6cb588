package text

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/porter"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// stemmers drop the suffixes of the words of a language, by its name and by its code.
// "none" has none. Manual: reference/text-search-languages.
// Source: https://snowballstem.org/algorithms.
var stemmers = map[string]func(*snowballstem.Env) bool{
	"da": danish.Stem, "danish": danish.Stem,
	"de": german.Stem, "german": german.Stem,
	"dutch": dutch.Stem, "nl": dutch.Stem,
	"en": english.Stem, "english": english.Stem,
	"es": spanish.Stem, "spanish": spanish.Stem,
	"fi": finnish.Stem, "finnish": finnish.Stem,
	"fr": french.Stem, "french": french.Stem,
	"hu": hungarian.Stem, "hungarian": hungarian.Stem,
	"it": italian.Stem, "italian": italian.Stem,
	"nb": norwegian.Stem, "norwegian": norwegian.Stem,
	"none":   nil,
	"porter": porter.Stem,
	"pt":     portuguese.Stem, "portuguese": portuguese.Stem,
	"ro": romanian.Stem, "romanian": romanian.Stem,
	"ru": russian.Stem, "russian": russian.Stem,
	"sv": swedish.Stem, "swedish": swedish.Stem,
	"tr": turkish.Stem, "turkish": turkish.Stem,
}

// stemmedBytesMax is the longest word that is stemmed: a longer one is no word of any
// language, and its suffix is cut off anyway.
const stemmedBytesMax = 2 * termBytesMax

// stem drops the suffix of a word in lower case.
func (l Language) stem(word string) string {
	stem := stemmers[l.name]
	if stem == nil || len(word) > stemmedBytesMax {
		return word
	}
	env := snowballstem.NewEnv(word)
	stem(env)
	return env.Current()
}
