package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Language converts words of a language to terms. Immutable.
type Language struct {
	rules   *rules
	english bool
}

// LanguageOf returns a language by its name or code, case-insensitively.
func LanguageOf(name string) (Language, bool) {
	r := languages[strings.ToLower(name)]
	if r == nil {
		return Language{languages["none"], false}, false
	}
	return Language{r, r.name == "english" || r.name == "porter"}, true
}

// Tokens calls yield with each word of s as written, and with its offset in s in bytes.
func (l Language) Tokens(s string, yield func(token string, at int)) {
	start := -1
	for i, r := range s {
		switch {
		case isWord(r):
			if start < 0 {
				start = i
			}
		case start < 0:
		case r == '\'' && l.english && wordFollows(s[i+1:]):
		default:
			yield(s[start:i], start)
			start = -1
		}
	}
	if start >= 0 {
		yield(s[start:], start)
	}
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r) || r == '_'
}

func wordFollows(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && isWord(r)
}

// Terms calls yield with the terms of s in the language, one for each word that is no stop word.
func (l Language) Terms(s string, yield func(term string)) {
	l.Tokens(s, func(token string, _ int) {
		if term := l.Term(token); term != "" {
			yield(term)
		}
	})
}

// termBytesMax limits the length of terms, which become index keys.
const termBytesMax = 64

// Term returns the term by which a text index holds the word token, "" for a stop word. Long terms are truncated to
// termBytesMax bytes.
func (l Language) Term(token string) string {
	word := strings.ToLower(token) // stop words are compared with their diacritics
	if l.rules.stopWords()[word] {
		return ""
	}
	word = Fold(l.rules.stemmed(word)) // the rules of most languages use diacritics
	return word[:min(len(word), termBytesMax)]
}

// Fold converts s to lower case and removes its diacritics.
func Fold(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	s = strings.ToLower(s)
	if plain {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}
