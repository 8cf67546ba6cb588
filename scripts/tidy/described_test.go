package tidy

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// checkDescribed reports comments above an exported declaration, field or interface method that do not begin with its
// name. A comment above several declarations applies to all of them, and may begin with any word.
func checkDescribed(r *repo, report reporter) {
	for _, f := range r.files {
		if f.test || ast.IsGenerated(f.syntax) || isRig(f.dir) {
			continue
		}
		check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
			if doc != nil && len(names) > 0 && ast.IsExported(names[0].Name) && !beginsWith(doc.Text(), names) {
				report(r.position(doc.Pos()), "the comment of "+names[0].Name+" begins with something else")
			}
		}
		for i, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if i+1 < len(f.syntax.Decls) {
					next, ok := f.syntax.Decls[i+1].(*ast.FuncDecl)
					if ok && r.together(d, next, next.Doc) {
						continue
					}
				}
				check(d.Doc, d.Name)
			case *ast.GenDecl:
				if !d.Lparen.IsValid() && len(d.Specs) == 1 {
					check(d.Doc, specNames(d.Specs[0])...)
				}
				for i, s := range d.Specs {
					if i+1 == len(d.Specs) || !r.together(s, d.Specs[i+1], specDoc(d.Specs[i+1])) {
						check(specDoc(s), specNames(s)...)
					}
				}
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			var list *ast.FieldList
			switch n := n.(type) {
			case *ast.StructType:
				list = n.Fields
			case *ast.InterfaceType:
				list = n.Methods
			default:
				return true
			}
			for i, field := range list.List {
				if i+1 == len(list.List) || !r.together(field, list.List[i+1], list.List[i+1].Doc) {
					check(field.Doc, fieldNames(field)...)
				}
			}
			return true
		})
	}
}

// together reports whether two declarations or fields are on neighbouring lines, and the second has no comment above
// it (doc is nil), so that the comment above the first applies to both.
func (r *repo) together(first, second ast.Node, doc *ast.CommentGroup) bool {
	return doc == nil && r.set.Position(second.Pos()).Line == r.set.Position(first.End()).Line+1
}

// specDoc returns the comment above one declaration in a group of declarations.
func specDoc(s ast.Spec) *ast.CommentGroup {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Doc
	case *ast.ValueSpec:
		return s.Doc
	}
	return nil
}

// specNames returns the names that a declaration declares.
func specNames(s ast.Spec) []*ast.Ident {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

// fieldNames returns the names of a struct's field; for an embedded field, the name of its type.
func fieldNames(f *ast.Field) []*ast.Ident {
	if len(f.Names) > 0 {
		return f.Names
	}
	x := f.Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.SelectorExpr:
			x = t.Sel
		case *ast.Ident:
			return []*ast.Ident{t}
		default:
			return nil
		}
	}
}

// beginsWith reports whether a comment begins with one of the names, optionally after an article, or with a list that
// contains one, as in "Open, Sink and Close make …".
func beginsWith(text string, names []*ast.Ident) bool {
	for _, word := range strings.Fields(text) {
		name := strings.TrimRight(word, ",.:;()")
		name, _, _ = strings.Cut(name, "'")
		for _, id := range names {
			if id.Name == name || id.Name == "_" {
				return true
			}
		}
		article := slices.Contains([]string{"A", "An", "The", "Deprecated", "and", "or"}, name)
		if !article && !strings.HasSuffix(word, ",") && !listed(text, word) {
			return false
		}
	}
	return false
}

// listed reports whether the first occurrence of a word in a text is followed by "and" or "or", as the last but one in
// a list of names is.
func listed(text, word string) bool {
	_, after, _ := strings.Cut(text, word)
	after = strings.TrimSpace(after)
	return strings.HasPrefix(after, "and ") || strings.HasPrefix(after, "or ")
}

// spelled matches words that have the form of Go's identifiers: pkg.Name, Type.Method and mixedCaps.
var spelled = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+|\b[A-Za-z]+[a-z0-9][A-Z][A-Za-z0-9]*\b`)

// foreignNames are words in comments that look like identifiers and are none of ours: options of MongoDB and its
// tools that the server does not have, and proper names.
var foreignNames = []string{"ClientSession", "GiB", "OpenSSL", "analyzeShardKeyNumRanges", "fullCollectionName", "preserveUUID"}

// checkNamed reports comments that contain the name of no existing declaration: after a rename, comments would keep
// the old name for years.
func checkNamed(r *repo, report reporter) {
	known := r.knownWords()
	packages := r.declaredNames()
	for _, f := range r.files {
		if f.test || isRig(f.dir) {
			continue
		}
		for _, group := range f.syntax.Comments {
			for _, line := range group.List {
				if source(line.Text) {
					continue
				}
				for _, name := range spelled.FindAllString(line.Text, -1) {
					first, second, dotted := strings.Cut(name, ".")
					own := packages[first]
					switch {
					case dotted && own != nil && ast.IsExported(second):
						second, _, _ = strings.Cut(second, ".")
						if !own[second] {
							report(r.position(line.Pos()), name+" does not exist")
						}
					case dotted || known[name] || slices.Contains(foreignNames, name):
					default:
						report(r.position(line.Pos()), "nothing is named "+name)
					}
				}
			}
		}
	}
}

// source reports whether a line of a comment names the source of a behaviour, where names of other projects are
// allowed.
func source(line string) bool {
	for _, mark := range []string{"Manual: ", "Spec: ", "Source: ", "Observed: ", "://", "#"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}

// declaredNames returns, by package name, the names that packages of the repository declare, including fields and
// methods.
func (r *repo) declaredNames() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, f := range r.files {
		name := f.syntax.Name.Name
		if out[name] == nil {
			out[name] = map[string]bool{}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				out[name][n.Name.Name] = true
			case *ast.Field:
				for _, id := range fieldNames(n) {
					out[name][id.Name] = true
				}
			case ast.Spec:
				for _, id := range specNames(n) {
					out[name][id.Name] = true
				}
			}
			return true
		})
	}
	return out
}

// knownWords returns every identifier of the repository, and every word of its string literals and case files, among
// them the names of commands, stages and options: a comment may use these.
func (r *repo) knownWords() map[string]bool {
	out := map[string]bool{}
	words := func(text string) {
		for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return c > 127 || !isLetter(byte(c)) }) {
			out[word] = true
		}
	}
	for _, f := range r.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				out[n.Name] = true
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					words(n.Value)
				}
			}
			return true
		})
	}
	for _, dir := range []string{"collection", "compat-tests"} {
		words(r.allText(dir))
	}
	return out
}
