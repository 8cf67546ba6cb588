package text

import (
	"sync"

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
	"github.com/blugelabs/bluge/analysis"
	"github.com/blugelabs/bluge/analysis/lang/da"
	"github.com/blugelabs/bluge/analysis/lang/de"
	"github.com/blugelabs/bluge/analysis/lang/en"
	"github.com/blugelabs/bluge/analysis/lang/es"
	"github.com/blugelabs/bluge/analysis/lang/fi"
	"github.com/blugelabs/bluge/analysis/lang/fr"
	"github.com/blugelabs/bluge/analysis/lang/hu"
	"github.com/blugelabs/bluge/analysis/lang/it"
	"github.com/blugelabs/bluge/analysis/lang/nl"
	"github.com/blugelabs/bluge/analysis/lang/no"
	"github.com/blugelabs/bluge/analysis/lang/pt"
	"github.com/blugelabs/bluge/analysis/lang/ro"
	"github.com/blugelabs/bluge/analysis/lang/ru"
	"github.com/blugelabs/bluge/analysis/lang/sv"
	"github.com/blugelabs/bluge/analysis/lang/tr"
)

// rules convert the words of a language to terms.
type rules struct {
	name, code string
	// stem removes the suffix of a word in the language; nil if words keep theirs.
	stem func(*snowballstem.Env) bool
	// stopWords returns the words that are not looked up; they are loaded at the first call.
	stopWords func() analysis.TokenMap
}

// languages are the rules of each language, by its name and by its code.
// Manual: reference/text-search-languages. Suffixes: https://snowballstem.org/algorithms.
// Stop words: the lists of the Snowball project, those for Romanian by Jacques Savoy and
// for Turkish by the Lucene project, all under the BSD or the Apache licence.
var languages = byName(
	rules{"danish", "da", danish.Stem, da.StopWords},
	rules{"dutch", "nl", dutch.Stem, nl.StopWords},
	rules{"english", "en", english.Stem, en.StopWords},
	rules{"finnish", "fi", finnish.Stem, fi.StopWords},
	rules{"french", "fr", french.Stem, fr.StopWords},
	rules{"german", "de", german.Stem, de.StopWords},
	rules{"hungarian", "hu", hungarian.Stem, hu.StopWords},
	rules{"italian", "it", italian.Stem, it.StopWords},
	rules{"none", "none", nil, analysis.NewTokenMap},
	rules{"norwegian", "nb", norwegian.Stem, no.StopWords},
	rules{"porter", "porter", porter.Stem, en.StopWords},
	rules{"portuguese", "pt", portuguese.Stem, pt.StopWords},
	rules{"romanian", "ro", romanian.Stem, ro.StopWords},
	rules{"russian", "ru", russian.Stem, ru.StopWords},
	rules{"spanish", "es", spanish.Stem, es.StopWords},
	rules{"swedish", "sv", swedish.Stem, sv.StopWords},
	rules{"turkish", "tr", turkish.Stem, tr.StopWords},
)

func byName(list ...rules) map[string]*rules {
	m := map[string]*rules{}
	for _, r := range list {
		r.stopWords = sync.OnceValue(r.stopWords)
		m[r.name], m[r.code] = &r, &r
	}
	return m
}

// stemmedBytesMax is the length in bytes of the longest word that is stemmed: a longer one is no word of any
// language, and its end is truncated anyway.
const stemmedBytesMax = 2 * termBytesMax

// stemmed returns word, which is in lower case, without its suffix; unchanged if the language has no rules for
// suffixes, or if word is longer than stemmedBytesMax.
func (r *rules) stemmed(word string) string {
	if r.stem == nil || len(word) > stemmedBytesMax {
		return word
	}
	env := snowballstem.NewEnv(word)
	r.stem(env)
	return env.Current()
}
