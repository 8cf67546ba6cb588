// Package namespaces chooses and renames collections by patterns of their full names.
package namespaces

import (
	"fmt"
	"regexp"
	"strings"
)

// Chosen selects collections by patterns of their full names, in which * stands for any characters: those that a
// pattern of Include matches, or all if there is none, and none that a pattern of Exclude matches. Manual:
// database-tools/mongorestore, the options nsInclude and nsExclude.
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

// Pattern parses a pattern and adds it to list; it is the function of a flag.
func Pattern(list *[]*regexp.Regexp) func(string) error {
	return func(text string) error {
		r, _, err := namespacePattern(text)
		*list = append(*list, r)
		return err
	}
}

// namespacePattern converts a pattern such as "data.$customer$_*" into a regular expression with a group for each
// variable and each star, and returns their names; a star has the name "". A backslash escapes the next
// character. Errors: an unterminated variable.
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

// Renaming gives collections other names.
// Manual: database-tools/mongorestore, the options nsFrom and nsTo.
type Renaming struct {
	from  *regexp.Regexp
	names []string
	to    string
}

// New parses a pair of patterns. Errors: variables in to that from does not have.
func New(from, to string) (*Renaming, error) {
	r, names, err := namespacePattern(from)
	if err != nil {
		return nil, err
	}
	x := &Renaming{r, names, to}
	_, err = x.fill(make([]string, len(names)))
	return x, err
}

// Apply returns the new name; ok is false for names that the pattern does not match.
func (x *Renaming) Apply(ns string) (renamed string, ok bool) {
	m := x.from.FindStringSubmatch(ns)
	if m == nil {
		return ns, false
	}
	renamed, err := x.fill(m[1:])
	return renamed, err == nil
}

// fill inserts values into to: for stars by order, for variables by name.
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
