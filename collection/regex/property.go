package regex

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Members of the classes that letters and POSIX names denote, as pairs.
var (
	digits      = []rune{'0', '9'}
	wordChars   = []rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
	spaces      = []rune{'\t', '\r', ' ', ' '}
	horizontals = []rune{'\t', '\t', ' ', ' ', 0xa0, 0xa0, 0x1680, 0x1680, 0x180e, 0x180e, 0x2000, 0x200a, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000}
	verticals   = []rune{'\n', '\r', 0x85, 0x85, 0x2028, 0x2029}
	// scriptSpaces are the members of \s in ECMAScript.
	scriptSpaces = []rune{'\t', '\r', ' ', ' ', 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff}
)

// posix are the ranges of the POSIX classes.
var posix = map[string][]rune{
	"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "ascii": {0, 127}, "blank": {'\t', '\t', ' ', ' '},
	"cntrl": {0, 31, 127, 127}, "digit": digits, "graph": {'!', '~'}, "lower": {'a', 'z'}, "print": {' ', '~'},
	"punct": {'!', '/', ':', '@', '[', '`', '{', '~'}, "space": spaces, "upper": {'A', 'Z'}, "word": wordChars,
	"xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
}

// unicodeClasses are the classes that (*UCP) changes, as names of properties and, behind them, ranges.
var unicodeClasses = map[string]struct {
	properties string
	ranges     []rune
}{
	"digit": {"Nd", nil}, "word": {"L N", []rune{'_', '_'}}, "space": {"Z", append(append([]rune{}, horizontals...), verticals...)},
	"alnum": {"L N", nil}, "alpha": {"L", nil}, "blank": {"", horizontals}, "cntrl": {"Cc", nil}, "lower": {"Ll", nil}, "upper": {"Lu", nil},
	"graph": {"L M N P S Cf Co", nil}, "print": {"L M N P S Cf Co Zs", nil}, "punct": {"P", []rune{'$', '$', '+', '+', '<', '>', '^', '^', '`', '`', '|', '|', '~', '~'}},
}

// addClass adds the class of a POSIX name or its complement.
func (c *class) addClass(name string, negative, ucp bool) {
	u, changed := unicodeClasses[name]
	switch {
	case !ucp || !changed:
		if negative {
			c.addOthers(posix[name]...)
		} else {
			c.addPairs(posix[name]...)
		}
		return
	case !negative:
		c.addPairs(u.ranges...)
		for _, p := range strings.Fields(u.properties) {
			c.sets = append(c.sets, propertySet{table: unicode.Categories[p], name: p})
		}
		return
	}
	others := &class{}
	others.addClass(name, false, true)
	c.sets = append(c.sets, propertySet{several: others.finish(), negative: true})
}

// loose returns a name of a property without case, spaces, hyphens and underscores.
func loose(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '-', '_':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// properties are the tables of Unicode by loose names.
var properties = sync.OnceValue(func() map[string]propertySet {
	all := map[string]propertySet{}
	for name, t := range unicode.Properties {
		all[loose(name)] = propertySet{table: t}
	}
	for name, t := range unicode.Scripts {
		all[loose(name)] = propertySet{table: t, name: name}
	}
	for name, t := range unicode.Categories {
		all[loose(name)] = propertySet{table: t, name: name}
	}
	return all
})

// longNames are the long names of general categories, which ECMAScript takes besides the short ones.
var longNames = map[string]string{
	"letter": "L", "casedletter": "LC", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm",
	"otherletter": "Lo", "mark": "M", "combiningmark": "M", "nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me",
	"number": "N", "decimalnumber": "Nd", "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
	"connectorpunctuation": "Pc", "dashpunctuation": "Pd", "openpunctuation": "Ps", "closepunctuation": "Pe", "initialpunctuation": "Pi",
	"finalpunctuation": "Pf", "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk",
	"othersymbol": "So", "separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp", "other": "C",
	"control": "Cc", "cntrl": "Cc", "format": "Cf", "surrogate": "Cs", "privateuse": "Co",
}

// derived are properties that several categories make up.
var derived = map[string][]string{
	"l&": {"Lu", "Ll", "Lt"}, "lc": {"Lu", "Ll", "Lt"}, "alphabetic": {"L", "Nl", "OtherAlphabetic"}, "alpha": {"L", "Nl", "OtherAlphabetic"},
	"uppercase": {"Lu", "OtherUppercase"}, "upper": {"Lu", "OtherUppercase"}, "lowercase": {"Ll", "OtherLowercase"},
	"lower": {"Ll", "OtherLowercase"}, "space": {"WhiteSpace"}, "whitespace": {"WhiteSpace"}, "dash": {"Dash"},
}

// addProperty adds the characters with the property of a name as PCRE2 takes it, or those without. It returns false if
// there is no such property.
func (c *class) addProperty(name string, negative bool) bool {
	set := &class{}
	switch key := loose(name); key {
	case "any":
		set.add(0, utf8.MaxRune)
	case "xan":
		set.addClass("alnum", false, true)
	case "xwd":
		set.addClass("word", false, true)
	case "xsp", "xps":
		set.addClass("space", false, true)
	case "xuc":
		set.addPairs('$', '$', '@', '@', '`', '`', 0xa0, 0xd7ff, 0xe000, utf8.MaxRune)
	default:
		for _, prefix := range []string{"script=", "script:", "sc=", "sc:", "scriptextensions=", "scriptextensions:", "scx=", "scx:", "generalcategory=", "gc="} {
			key = strings.TrimPrefix(key, prefix)
		}
		parts, ok := derived[key]
		if !ok {
			parts = []string{key}
		}
		for _, part := range parts {
			p, ok := properties()[loose(part)]
			if !ok {
				return false
			}
			set.sets = append(set.sets, p)
		}
	}
	switch {
	case !negative:
		c.ranges, c.sets = append(c.ranges, set.ranges...), append(c.sets, set.sets...)
	case len(set.ranges) == 0 && len(set.sets) == 1:
		p := set.sets[0]
		p.negative = !p.negative
		c.sets = append(c.sets, p)
	case len(set.sets) == 0:
		c.addOthers(set.finish().ranges...)
	default:
		c.sets = append(c.sets, propertySet{several: set.finish(), negative: true})
	}
	return true
}
