package mql

import (
	"slices"
	"strings"

	xlanguage "golang.org/x/text/language"
)

// CollatorVersion is the version of the rules by which collations order strings. The keys of an index, and of
// records whose _id has a collation, depend on the version that made them, so the catalog stores the version with
// each collation. A collation of a command has the newest version.
type CollatorVersion uint8

// The versions.
const (
	// FirstCollator is the oldest version. It accepts every locale and variant of MongoDB, and orders a locale
	// without tables as English, or as the language that the locale is based on. A collation in the catalog without a
	// version has FirstCollator.
	FirstCollator CollatorVersion = iota
	// SecondCollator refuses locales and variants without tables in x/text/collate. It does not order the script of a
	// language before others, and has the rules of CLDR 23.
	SecondCollator
	// NewestCollator is described in docs/collations.md.
	NewestCollator
)

// Version returns the version of the rules, the newest for nil.
func (c *Collation) Version() CollatorVersion {
	if c == nil {
		return NewestCollator
	}
	return c.spec.version
}

// firstLanguageOf is languageOf for FirstCollator, which supports every known locale.
func firstLanguageOf(locale string) (l *language, known bool) {
	name, variant, hasVariant := strings.Cut(locale, "@collation=")
	if strings.ContainsAny(name, "@-") {
		return nil, false
	}
	base, _, _ := strings.Cut(name, "_")
	if _, known := slices.BinarySearch(locales[:], name); !known {
		if _, known = slices.BinarySearch(locales[:], base); !known {
			return nil, false
		}
	}
	bcp := strings.ReplaceAll(name, "_", "-")
	if name == "en_US_POSIX" {
		bcp = "en-US-u-va-posix"
	}
	if hasVariant {
		key, known := variantKeys[variant]
		if !known {
			return nil, false
		}
		bcp += "-u-co-" + key
	}
	tag, err := xlanguage.Parse(bcp)
	if err != nil {
		return nil, false
	}
	return newLanguage(tag, name, hasVariant), true
}
