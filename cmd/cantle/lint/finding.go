package lint

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/collection/cosmos"
)

// location is the position of a finding.
type location struct {
	in   string // a file, a collection with or without an index, an application
	line int    // from 1; 0 without lines
}

func (p location) String() string {
	if p.line == 0 {
		return p.in
	}
	return p.in + ":" + strconv.Itoa(p.line)
}

// feature is a feature that the account does not have.
type feature struct {
	kind cosmos.Kind
	name string
}

// basis is the way in which a finding was made, on which its certainty depends.
type basis string

const (
	parsed basis = "parsed"  // by the server's own parsers
	byName basis = "by name" // a guess
	served basis = "served"  // counted by a running server
)

// finding is a feature that the account refuses, with the first place that uses it and the number of uses.
type finding struct {
	feature
	location location
	basis    basis
	times    int64
}

// add adds a finding. If a finding of the same feature and place exists, it only raises that one's count; together
// means that the whole file is one place, as for a log.
func (l *Linter) add(f finding, together bool) {
	for i := range l.found {
		x := &l.found[i]
		if x.feature == f.feature && x.basis == f.basis && x.location.in == f.location.in && (together || x.location.line == f.location.line) {
			x.times += f.times
			return
		}
	}
	l.found = append(l.found, f)
}

// sorted returns the findings in the order of their places.
func (l *Linter) sorted() []finding {
	slices.SortStableFunc(l.found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.location.in, b.location.in), cmp.Compare(a.location.line, b.location.line), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	return l.found
}

// Print prints the findings as a table, and below it the numbers of checked things. It returns the number of features
// that the account refuses.
func (l *Linter) Print(out io.Writer) int {
	features := map[feature]bool{}
	if list := l.sorted(); len(list) > 0 {
		t := columns.Table{}
		t.Row("place", " times", "basis", "feature", "kind", "available with", "error")
		for _, f := range list {
			features[f.feature] = true
			r := f.kind.Find(f.name)
			e := f.kind.Refusal(f.name, r)
			t.Row(f.location.String(), fmt.Sprint(f.times), string(f.basis), f.name, f.kind.String(), enabledBy(r), columns.Clip(fmt.Sprintf("%d %s", e.Code, e.Msg), answerWidth))
		}
		t.Print(out)
		fmt.Fprintln(out)
	}
	refused := "nothing"
	if len(features) > 0 {
		refused = columns.Plural(len(features), "feature")
	}
	fmt.Fprintf(out, "%s refuses %s; checked: %s\n", l.Account(), refused, l.looked)
	return len(features)
}

// answerWidth bounds an error's text in the table, in characters.
const answerWidth = 80

// enabledBy returns the capability, the lack of one, or the server version, with which an account has the feature of
// a row; "-" if none has it.
func enabledBy(r *cosmos.Row) string {
	switch {
	case r != nil && r.Closes != 0:
		return "no capability " + r.Closes.String()
	case r == nil || r.Opens == 0 && r.In == cosmos.Never:
		return "-"
	case r.Opens != 0:
		return "capability " + r.Opens.String()
	}
	return "version " + r.In.String()
}

// checkedCounts counts the commands, files and collections that were checked.
type checkedCounts struct{ commands, files, collections int }

func (n checkedCounts) String() string {
	var parts []string
	if n.commands > 0 {
		parts = append(parts, columns.Plural(n.commands, "command"))
	}
	if n.files > 0 {
		parts = append(parts, columns.Plural(n.files, "source file"))
	}
	if n.collections > 0 {
		parts = append(parts, columns.Plural(n.collections, "collection"))
	}
	if parts == nil {
		return "no command, source file or collection"
	}
	return strings.Join(parts, ", ")
}
