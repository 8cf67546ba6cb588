package tidy

import (
	"go/ast"
	"go/token"
	"strings"
)

// checkInit reports init functions in the product.
func checkInit(r *repo, report reporter) {
	for _, f := range r.files {
		if f.test || isRig(f.dir) {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				report(r.position(fn.Pos()), "func init")
			}
		}
	}
}

// statefulTypes are types that, at package level, can only hold shared state, which servers in one process must not
// have. sync.Pool and sync.Once are not among them, because their state does not change a caller's results.
var statefulTypes = []string{"atomic.", "sync.Map", "sync.Mutex", "sync.RWMutex", "sync.WaitGroup"}

// checkGlobals reports package-level variables that are written, or whose type can only hold state: two servers in
// one process would share them.
func checkGlobals(r *repo, report reporter) {
	type variable struct{ dir, name string }
	specs := map[*ast.ValueSpec]bool{}
	variables := map[variable]bool{}
	for _, f := range r.product() {
		for _, d := range f.syntax.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				specs[v] = true
				for _, name := range v.Names {
					variables[variable{f.dir, name.Name}] = true
				}
				if t := typeText(v.Type); t != "" {
					for _, stateful := range statefulTypes {
						if t == stateful || strings.HasSuffix(stateful, ".") && strings.HasPrefix(t, stateful) {
							report(r.position(v.Pos()), "var "+v.Names[0].Name+" "+t)
						}
					}
				}
			}
		}
	}
	for _, f := range r.product() {
		written := func(x ast.Expr) {
			id := rootOf(x)
			if id == nil || !variables[variable{f.dir, id.Name}] {
				return
			}
			// A name that is declared in this file resolves to its declaration (id.Obj); one that does not resolve is
			// declared in another file of the package. Any other name is local.
			if id.Obj != nil {
				if v, ok := id.Obj.Decl.(*ast.ValueSpec); !ok || !specs[v] {
					return
				}
			}
			report(r.position(id.Pos()), "writes the package-level variable "+id.Name)
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok != token.DEFINE {
						for _, x := range n.Lhs {
							written(x)
						}
					}
				case *ast.IncDecStmt:
					written(n.X)
				case *ast.RangeStmt:
					if n.Tok == token.ASSIGN {
						written(n.Key)
						written(n.Value)
					}
				}
				return true
			})
		}
	}
}

// rootOf returns the variable that an assignment to the expression x changes, as in v, v.f, v[i], (*v).f; nil if x
// contains a call.
func rootOf(x ast.Expr) *ast.Ident {
	for {
		switch t := x.(type) {
		case *ast.Ident:
			return t
		case *ast.SelectorExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.ParenExpr:
			x = t.X
		case *ast.StarExpr:
			x = t.X
		default:
			return nil
		}
	}
}

// typeText returns the text of a type that is a name or pkg.Name, without type arguments.
func typeText(x ast.Expr) string {
	switch t := x.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return typeText(t.X) + "." + t.Sel.Name
	case *ast.IndexExpr:
		return typeText(t.X)
	}
	return ""
}
