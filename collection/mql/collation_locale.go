package mql

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/collate"
	xlanguage "golang.org/x/text/language"

	"github.com/cantledb/cantle/collection/tailoring"
)

// language holds the ordering rules of a locale.
type language struct {
	tag xlanguage.Tag
	// table completes the root order by the rules of the locale; nil if the engine orders by tag.
	table *tailoring.Table
	// Defaults that differ from those of other locales.
	upperFirst, shifted, backwards bool
	plain                          bool // orders ASCII as the root does, without contractions
	posix                          bool // ASCII in code point order
	kana                           bool // hiragana and katakana differ on level 4 only
}

// locales are the sorted names of the locales for which collations exist: a language, for some with a script or region.
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

// plainASCII are languages whose rules leave the ASCII characters at their places in the root order (the order
// without rules of a language), so that one table of weights serves for all of them.
var plainASCII = [...]string{"de", "en", "fr", "ga", "id", "it", "ms", "nl", "pt", "sw"}

// sameAs maps locales without tables of their own in the engine to others with the same rules, which have tables.
var sameAs = map[string]string{"bs": "hr", "gl": "es", "nb": "nn", "sr_Latn": "hr"}

// variants are the supported variants of locales whose order comes from the engine, each with its key in a language tag
// ("phonebk"). The key "" means the locale's default order. Locales that are not in variants have only "standard", their
// default order. Package tailoring has further variants.
var variants = map[string]map[string]string{
	"de":      {"phonebook": "phonebk", "standard": ""},
	"ln":      {"phonetic": "phonetic", "standard": ""},
	"sv":      {"reformed": ""},
	"zh":      {"pinyin": "", "stroke": "stroke"},
	"zh_Hant": {"pinyin": "pinyin", "stroke": ""},
}

// variantKeys maps the names that MongoDB accepts after "@collation=" in a locale to the keys of variants in
// language tags.
var variantKeys = map[string]string{
	"big5han": "big5han", "compat": "compat", "dictionary": "dict", "eor": "eor", "gb2312han": "gb2312",
	"phonebook": "phonebk", "phonetic": "phonetic", "pinyin": "pinyin", "reformed": "reformed", "search": "search",
	"searchjl": "searchjl", "standard": "standard", "stroke": "stroke", "traditional": "trad", "unihan": "unihan",
	"zhuyin": "zhuyin",
}

// localeOf returns the longest prefix of a locale's name that is in locales, "" if there is none or the name has
// another script: regions without rules of their own fall back to the language (en_GB), or to language and script
// (sr_Latn_RS).
func localeOf(name string) string {
	for name != "" {
		if _, known := slices.BinarySearch(locales[:], name); known {
			return name
		}
		i := strings.LastIndexByte(name, '_')
		if len(name)-i == len("_Latn") && name != "zh_Hans" {
			return "" // a different script is not a region
		}
		name = name[:max(i, 0)]
	}
	return ""
}

// languageOf returns the language of a locale name such as "fr_CA" or "de@collation=phonebook". known is false, and l
// nil, if MongoDB has no collation of the name; here is false if MongoDB has one whose order this server does not
// support.
func languageOf(locale string) (l *language, known, here bool) {
	name, variant, hasVariant := strings.Cut(locale, "@collation=")
	if _, exists := variantKeys[variant]; strings.ContainsAny(name, "@-") || hasVariant && !exists {
		return nil, false, false
	}
	of := localeOf(name)
	if name == "zh_TW" || name == "zh_HK" || name == "zh_MO" {
		of = "zh_Hant"
	}
	base, _, _ := strings.Cut(name, "_")
	if of == "" {
		if _, known = slices.BinarySearch(locales[:], base); !known {
			return nil, false, false
		}
		of = base
	} else {
		here = true
	}
	bcp := strings.ReplaceAll(of, "_", "-")
	switch {
	case of == "en_US_POSIX":
		bcp = "en-US-u-va-posix"
	case sameAs[of] != "":
		bcp = sameAs[of]
	}
	var table *tailoring.Table
	if here {
		table = tableOf(of, variant)
	}
	if hasVariant {
		own, listed := variants[of]
		key, has := own[variant]
		here = here && (table != nil || has || !listed && variant == "standard")
		if key != "" {
			bcp += "-u-co-" + key
		}
	}
	tag, err := xlanguage.Parse(bcp)
	if err != nil {
		return nil, false, false
	}
	l = newLanguage(tag, of, hasVariant)
	if l.table = table; table != nil {
		l.plain = false
	}
	if variant == "search" {
		l.upperFirst = false
	}
	return l, true, here
}

// tableOf returns the table of a locale and variant from package tailoring; nil if it has none.
func tableOf(of, variant string) *tailoring.Table {
	switch {
	case variant == "standard" && !tailoring.Has(of, variant):
		variant = ""
	case (variant == "search" || variant == "eor") && !tailoring.Has(of, variant):
		of = "und" // the same for all languages without their own
	}
	return tailoring.Of(of, variant)
}

// withoutTable returns l as SecondCollator has it: all weights come from the engine.
func (l *language) withoutTable() *language {
	second := *l
	second.table = nil
	return &second
}

// newLanguage returns the language of a locale, with its defaults. A locale that is not in locales has those of its
// language.
func newLanguage(tag xlanguage.Tag, locale string, hasVariant bool) *language {
	base, _, _ := strings.Cut(locale, "_")
	_, plain := slices.BinarySearch(plainASCII[:], base)
	return &language{
		tag:        tag,
		upperFirst: base == "da" || base == "mt",
		shifted:    base == "th",
		backwards:  locale == "fr_CA",
		plain:      plain && !hasVariant && locale != "en_US_POSIX",
		posix:      locale == "en_US_POSIX",
		kana:       base == "ja",
	}
}

// supportedLocales lists the supported locales and variants, for an error. It leaves out the variants that every locale
// has.
func supportedLocales() string {
	var list []string
	for _, l := range locales {
		list = append(list, l)
		for _, v := range slices.Sorted(maps.Keys(variantKeys)) {
			_, engine := variants[l][v]
			if v != "standard" && v != "search" && (engine || tailoring.Has(l, v)) {
				list = append(list, l+"@collation="+v)
			}
		}
	}
	return strings.Join(list, ", ")
}

// newCollator returns a new engine of x/text/collate, which computes the weights of the first three levels. Not safe
// for concurrent use.
func (l *language) newCollator() *collate.Collator {
	if l.table != nil {
		return tailoring.NewRoot()
	}
	return collate.New(l.tag)
}
