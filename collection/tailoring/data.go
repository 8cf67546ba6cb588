package tailoring

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed rules.txt
var rulesText string

// tailorings returns the rules by the name of their locale and variant (es@traditional), with a function that compiles
// them once.
var tailorings = sync.OnceValue(func() map[string]func() *Table {
	rules, own := map[string]string{}, []string(nil)
	for line := range strings.Lines(rulesText) {
		name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		name, imported := strings.CutPrefix(name, "-")
		rules[name] = text
		if !imported {
			own = append(own, name)
		}
	}
	tables := map[string]func() *Table{}
	for _, name := range own {
		tables[name] = sync.OnceValue(func() *Table {
			text, err := imported(rules, rules[name])
			if err != nil {
				panic("collation rules of " + name + ": " + err.Error())
			}
			t, err := compile(text)
			if err != nil {
				panic("collation rules of " + name + ": " + err.Error())
			}
			return t
		})
	}
	return tables
})

// imported replaces each [import name] by the rules of that name, which hold no import of a third.
func imported(rules map[string]string, text string) (string, error) {
	for range 4 {
		before, rest, found := strings.Cut(text, "[import ")
		if !found {
			return text, nil
		}
		name, after, _ := strings.Cut(rest, "]")
		other, ok := rules[name]
		if !ok {
			return "", fmt.Errorf("no rules %s", name)
		}
		text = before + other + after
	}
	return "", fmt.Errorf("too many imports")
}

// Of returns the Table of a locale, and of one of its variants unless variant is "". It is nil if rules.txt has none. The
// first call for a locale compiles its rules, which takes some milliseconds.
func Of(locale, variant string) *Table {
	name := locale
	if variant != "" {
		name += "@" + variant
	}
	if t := tailorings()[name]; t != nil {
		return t()
	}
	return nil
}

// Has reports whether rules.txt holds rules of a locale and variant.
func Has(locale, variant string) bool {
	name := locale
	if variant != "" {
		name += "@" + variant
	}
	return tailorings()[name] != nil
}
