package mql

import (
	"slices"
	"strings"

	"golang.org/x/text/collate"
	xlanguage "golang.org/x/text/language"
)

// language is what a locale means for ordering.
type language struct {
	tag xlanguage.Tag
	// Defaults that differ from those of other locales.
	upperFirst, shifted, backwards bool
	plain                          bool // orders ASCII as the root does, without contractions
	posix                          bool // ASCII in code point order
	kana                           bool // hiragana and katakana differ on level 4 only
}

// locales are the language codes that collations exist for, sorted.
// Manual: reference/collation-locales-defaults.
var locales = [...]string{
	"af", "am", "ar", "as", "az", "be", "bg", "bn", "bo", "bs", "bs_Cyrl", "ca", "chr", "cs", "cy", "da", "de",
	"de_AT", "dsb", "dz", "ee", "el", "en", "en_US", "en_US_POSIX", "eo", "es", "et", "fa", "fa_AF", "fi", "fil",
	"fo", "fr", "fr_CA", "ga", "gl", "gu", "ha", "haw", "he", "hi", "hr", "hsb", "hu", "hy", "id", "ig", "is", "it",
	"ja", "ka", "kk", "kl", "km", "kn", "ko", "kok", "ky", "lb", "lkt", "ln", "lo", "lt", "lv", "mk", "ml", "mn",
	"mr", "ms", "mt", "my", "nb", "ne", "nl", "nn", "om", "or", "pa", "pl", "ps", "pt", "ro", "ru", "se", "si", "sk",
	"sl", "smn", "sq", "sr", "sr_Latn", "sv", "sw", "ta", "te", "th", "to", "tr", "ug", "uk", "ur", "uz", "vi", "wae",
	"yi", "yo", "zh", "zh_Hant", "zu",
}

// plainASCII are languages whose rules leave the ASCII characters where the
// root order puts them, so that one table serves for them.
var plainASCII = [...]string{"de", "en", "fr", "ga", "id", "it", "ms", "nl", "pt", "sw"}

// collationVariants maps what follows "@collation=" to the key that language
// tags use for it.
var collationVariants = map[string]string{
	"big5han": "big5han", "compat": "compat", "dictionary": "dict", "eor": "eor", "gb2312han": "gb2312",
	"phonebook": "phonebk", "phonetic": "phonetic", "pinyin": "pinyin", "reformed": "reformed", "search": "search",
	"searchjl": "searchjl", "standard": "standard", "stroke": "stroke", "traditional": "trad", "unihan": "unihan",
	"zhuyin": "zhuyin",
}

// languageOf resolves a locale name such as "fr_CA" or "de@collation=phonebook".
// ok is false for names that no collation exists for.
func languageOf(locale string) (*language, bool) {
	name, variant, hasVariant := strings.Cut(locale, "@collation=")
	if strings.ContainsAny(name, "@-") {
		return nil, false
	}
	base, _, _ := strings.Cut(name, "_")
	if _, known := slices.BinarySearch(locales[:], name); !known {
		// Regions without rules of their own (en_GB) fall back to the language.
		if _, known = slices.BinarySearch(locales[:], base); !known {
			return nil, false
		}
	}
	bcp := strings.ReplaceAll(name, "_", "-")
	if name == "en_US_POSIX" {
		bcp = "en-US-u-va-posix"
	}
	if hasVariant {
		key, known := collationVariants[variant]
		if !known {
			return nil, false
		}
		bcp += "-u-co-" + key
	}
	tag, err := xlanguage.Parse(bcp)
	if err != nil {
		return nil, false
	}
	_, plain := slices.BinarySearch(plainASCII[:], base)
	return &language{
		tag:        tag,
		upperFirst: base == "da" || base == "mt",
		shifted:    base == "th",
		backwards:  name == "fr_CA",
		plain:      plain && !hasVariant && name != "en_US_POSIX",
		posix:      name == "en_US_POSIX",
		kana:       base == "ja",
	}, true
}

// newCollator makes the engine that yields weights down to the third level.
// Not safe for concurrent use.
func (l *language) newCollator() *collate.Collator { return collate.New(l.tag) }
