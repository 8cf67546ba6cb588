package cli

import (
	"fmt"
	"regexp"
	"strings"
)

// namespaces chooses collections by patterns of their full names, in which * stands for any
// characters: those that some of include match, or all if there are none, and none of exclude.
// Manual: database-tools/mongorestore, the options nsInclude and nsExclude.
type namespaces struct{ include, exclude []*regexp.Regexp }

func (n *namespaces) holds(ns string) bool {
	return (len(n.include) == 0 || matchesAny(n.include, ns)) && !matchesAny(n.exclude, ns)
}

func matchesAny(list []*regexp.Regexp, ns string) bool {
	for _, r := range list {
		if r.MatchString(ns) {
			return true
		}
	}
	return false
}

// pattern reads one more pattern into list; it is the function of a flag.
func pattern(list *[]*regexp.Regexp) func(string) error {
	return func(text string) error {
		r, _, err := namespacePattern(text)
		*list = append(*list, r)
		return err
	}
}

// namespacePattern makes of "data.$customer$_*" an expression with a group for each variable and
// each star, and their names; a star has the name "". A backslash takes away the meaning of what
// follows. Errors: a variable without its end.
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

// eachPiece takes a pattern apart.
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

// renaming gives collections other names.
// Manual: database-tools/mongorestore, the options nsFrom and nsTo.
type renaming struct {
	from  *regexp.Regexp
	names []string
	to    string
}

// newRenaming reads a pair of patterns. Errors: what to takes that from does not give.
func newRenaming(from, to string) (*renaming, error) {
	r, names, err := namespacePattern(from)
	if err != nil {
		return nil, err
	}
	x := &renaming{r, names, to}
	_, err = x.fill(make([]string, len(names)))
	return x, err
}

// apply returns the new name; ok is false for names that the pattern does not match.
func (x *renaming) apply(ns string) (renamed string, ok bool) {
	m := x.from.FindStringSubmatch(ns)
	if m == nil {
		return ns, false
	}
	renamed, err := x.fill(m[1:])
	return renamed, err == nil
}

// fill puts values into the places of to: stars take theirs by order, variables by name.
func (x *renaming) fill(values []string) (string, error) {
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
