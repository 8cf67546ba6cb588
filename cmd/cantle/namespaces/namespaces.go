// Package namespaces selects and renames collections by patterns of their full names, for dumps and restores.
package namespaces

import (
	"fmt"
	"regexp"
	"strings"
)

// Chosen selects collections by patterns of their full names, in which * stands for any characters. A collection is
// selected if a pattern of Include matches, or Include is empty, and no pattern of Exclude matches.
// Manual: database-tools/mongorestore, the options nsInclude and nsExclude.
type Chosen struct{ Include, Exclude []*regexp.Regexp }

// Holds reports whether a collection is selected.
func (n *Chosen) Holds(ns string) bool {
	return (len(n.Include) == 0 || matchesAny(n.Include, ns)) && !matchesAny(n.Exclude, ns)
}

func matchesAny(list []*regexp.Regexp, ns string) bool {
	for _, r := range list {
		if r.MatchString(ns) {
			return true
		}
	}
	return false
}

// Pattern returns the function of a flag: it parses a pattern of collections' names and appends it to list.
func Pattern(list *[]*regexp.Regexp) func(string) error {
	return func(text string) error {
		r, _, err := namespacePattern(text)
		*list = append(*list, r)
		return err
	}
}

// namespacePattern converts a pattern such as "data.$customer$_*" into a regular expression with a group for each
// variable and each star. It also returns the names of the groups; a star has the name "". A backslash escapes the
// next character.
// Errors: an unterminated variable.
func namespacePattern(text string) (*regexp.Regexp, []string, error) {
	var b strings.Builder
	var names []string
	err := eachPiece(text, func(literal string) { b.WriteString(regexp.QuoteMeta(literal)) }, func(name string) {
		b.WriteString("(.*?)")
		names = append(names, name)
	})
	if err != nil {
		return nil, nil, err
	}
	r, err := regexp.Compile("(?s)^" + b.String() + "$")
	return r, names, err
}

// eachPiece splits a pattern into its parts.
func eachPiece(text string, literal, variable func(string)) error {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			literal(text[i : i+1])
		case c == '*':
			variable("")
		case c == '$':
			end := strings.IndexByte(text[i+1:], '$')
			if end <= 0 {
				return fmt.Errorf("%q: a variable is written $name$", text)
			}
			variable(text[i+1 : i+1+end])
			i += end + 1
		default:
			literal(text[i : i+1])
		}
	}
	return nil
}

// Renaming renames collections by a pair of patterns, as in data.*=copy.*.
// Manual: database-tools/mongorestore, the options nsFrom and nsTo.
type Renaming struct {
	from  *regexp.Regexp
	names []string
	to    string
}

// New makes a Renaming from the patterns of the old and the new name.
// Errors: an unterminated variable; to has a variable or star that from does not have.
func New(from, to string) (*Renaming, error) {
	r, names, err := namespacePattern(from)
	if err != nil {
		return nil, err
	}
	x := &Renaming{r, names, to}
	_, err = x.fill(make([]string, len(names)))
	return x, err
}

// Apply returns the new name of a collection. If the pattern does not match the name, ok is false.
func (x *Renaming) Apply(ns string) (renamed string, ok bool) {
	m := x.from.FindStringSubmatch(ns)
	if m == nil {
		return ns, false
	}
	renamed, err := x.fill(m[1:])
	return renamed, err == nil
}

// fill returns the new name: the pattern to with values inserted. The values are those of the groups of from; stars
// are matched by their order, variables by their names.
func (x *Renaming) fill(values []string) (string, error) {
	var b strings.Builder
	var missing error
	star := 0
	err := eachPiece(x.to, func(s string) { b.WriteString(s) }, func(name string) {
		for i, have := range x.names {
			if have != name || name == "" && i < star {
				continue
			}
			if name == "" {
				star = i + 1
			}
			b.WriteString(values[i])
			return
		}
		missing = fmt.Errorf("%q has a place for which the other pattern has none", x.to)
	})
	if err == nil {
		err = missing
	}
	return b.String(), err
}
