package mql

import (
	"slices"
	"strings"

	xlanguage "golang.org/x/text/language"
)

// CollatorVersion numbers the rules by which collations order strings. Keys of indexes, and of
// records where _id has a collation, were made by one version, so a catalog keeps it with
// each collation; a collation of a command has the newest one.
type CollatorVersion uint8

// The versions.
const (
	// FirstCollator took every locale and variant, and ordered those without tables as English, or
	// as their base. In a catalog it is the absence of a version.
	FirstCollator CollatorVersion = iota
	// NewestCollator: see docs/collations.md.
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
