// Package text implements text search: it splits strings into terms, which text indexes hold, and parses
// the search strings of $text.
//
//	"The quick foxes" ── Language.Terms ──►  quick, fox
//	`fox -dog "red coat"` ── ParseQuery ──►  terms, phrases, negations
//
// A term is a word in lower case without diacritics, without its suffix, and not a stop word. Each language except
// "none" has rules for suffixes and a list of stop words, most of them of the Snowball project.
//
// Glossary. Token: a run of letters, digits, marks and underscores of a string, in English also with apostrophes
// inside. Term: the form by which a token is looked up. Stop word: a word too common to look for. Stem: a word
// without suffix.
//
// Manual: core/link-text-indexes, reference/operator/query/text.
package text
