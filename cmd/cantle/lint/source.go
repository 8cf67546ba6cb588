package lint

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/update"
)

// sources are the endings of files that are searched for names.
var sources = []string{".cs", ".go", ".java", ".js", ".jsx", ".kt", ".mjs", ".php", ".py", ".rb", ".rs", ".scala", ".ts", ".tsx", ".vue"}

// notOurs are folders of files that others wrote or programs made.
var notOurs = []string{"node_modules", "vendor", "target", "bin", "obj", "dist", "build", "__pycache__"}

// sourceMax bounds a source file, in bytes: longer ones are made by programs.
const sourceMax = 2 << 20

// Path checks a file, or the source files in a folder and below.
// Errors: the errors of File and the file system.
func (l *Linter) Path(ctx context.Context, name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
	case slices.Contains(sources, filepath.Ext(name)):
		return l.source(name)
	default:
		return l.File(ctx, name)
	}
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && path != name && (slices.Contains(notOurs, d.Name()) || d.Name()[0] == '.'):
			return filepath.SkipDir
		case d.Type().IsRegular() && slices.Contains(sources, filepath.Ext(path)):
			return l.source(path)
		}
		return nil
	})
}

var (
	// operators are names with a dollar sign that are no part of a longer word or a template: ${x}.
	operators = regexp.MustCompile(`(?:^|[^\w$])(\$[a-z][A-Za-z0-9]*)\b`)
	// commandNames are names of several words: methods, or fields of a document.
	commandNames = regexp.MustCompile(`(\.|["'{]\s*)([a-z]+[A-Z][A-Za-z]*)(?:["']|\s*[(:])`)
)

// source searches a file for the names of features that the account does not have.
func (l *Linter) source(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Size() > sourceMax {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	l.looked.files++
	n := 0
	for line := range bytes.Lines(text) {
		n++
		at := location{name, n}
		for _, m := range operators.FindAllSubmatch(line, -1) {
			if kind, refused := l.operator(string(m[1])); refused {
				l.add(finding{feature{kind, string(m[1])}, at, byName, 1}, false)
			}
		}
		for _, m := range commandNames.FindAllSubmatch(line, -1) {
			r := cosmos.Command.Find(string(m[2])) // drivers have a method bulkWrite without the command, which has no row
			if r != nil && !l.account.Has(r) {
				l.add(finding{feature{cosmos.Command, r.Name}, at, byName, 1}, false)
			}
		}
	}
	return nil
}

// operator returns the first kind of operator that has the name; refused is false for one that the
// account has as any kind, or that is none.
func (l *Linter) operator(name string) (kind cosmos.Kind, refused bool) {
	for _, x := range []struct {
		kind   cosmos.Kind
		served bool
	}{
		{cosmos.Stage, agg.FindStage(name) != nil},
		{cosmos.Query, slices.ContainsFunc(match.Operators, func(o match.Operator) bool { return o.Name == name })},
		{cosmos.Expression, slices.ContainsFunc(expr.Operators, func(o expr.Operator) bool { return o.Name == name })},
		{cosmos.Accumulator, slices.ContainsFunc(agg.Accumulators, func(o agg.AccumulatorDef) bool { return o.Name == name })},
		{cosmos.Projection, false},
		{cosmos.Update, slices.ContainsFunc(update.Operators, func(o update.Operator) bool { return o.Name == name })},
	} {
		r := x.kind.Find(name)
		if r == nil && !x.served {
			continue
		}
		if l.account.Has(r) {
			return 0, false
		}
		if !refused {
			kind, refused = x.kind, true
		}
	}
	return kind, refused
}
