package tidy

import (
	"go/ast"
	"go/token"
	"path"
)

// stageWords are files, by their base name, with words that are names of stages and mean
// something else there, or must be there.
var stageWords = map[string]string{
	"array_push.go":      "$push has a $sort of its own",
	"cosmos.go":          "Cosmos DB wants $match and $project, in this order, behind $changeStream",
	"validator.go":       "validators may not have the query operators that sort, of which $geoNear is an old one",
	"geo_near.go":        "$geoNear is an old name of the query operator $near",
	"keydistribution.go": "updates have $set and $unset, and $replaceWith as a stage",
	"near.go":            "$geoNear is an old name of the query operator $near",
	"query_parts.go":     "the column Query of the commands says where an aggregate has its filter and its sort",
	"stages.go":          "package project parses what stages and updates have in common, named as its callers do",
	"text.go":            "$text has its words in a field $search",
}

// checkStages looks in collection, shard and wire for who knows a stage by its name:
// compares with it, looks it up, or lists it. Only the file with its row may; to
// everybody else, what is true of a stage is a field of its row. Whoever writes a
// pipeline names stages too, and may.
func checkStages(r *repo, report reporter) {
	homes := r.stageHomes()
	for _, f := range r.files {
		if f.test || !(under(f.dir, "collection") || under(f.dir, "shard") || under(f.dir, "wire")) || stageWords[path.Base(f.path)] != "" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			for _, word := range knownWords(n) {
				if home, ok := homes[word]; ok && home != f.path {
					report(r.position(n.Pos()), "knows the stage "+word+" by its name")
				}
			}
			return true
		})
	}
}

// stageHomes returns the names of all stages, with the files in which their rows stand.
func (r *repo) stageHomes() map[string]string {
	homes := map[string]string{}
	for _, f := range r.files {
		if f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && lastName(lit.Type) == "StageDef" {
				homes[readRow(lit, lit).name] = f.path
			}
			return true
		})
	}
	delete(homes, "")
	return homes
}

// knownWords returns the string literals by which a node tells one case from others:
// what it compares with, what a switch or a list has, what it looks up.
func knownWords(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return literals(n.X, n.Y)
		}
	case *ast.CaseClause:
		return literals(n.List...)
	case *ast.CompositeLit:
		var words []string
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Key
			}
			words = append(words, literals(e)...)
		}
		return words
	case *ast.CallExpr:
		switch lastName(n.Fun) {
		case "Get", "Lookup", "docAt", "FindStage", "find":
			return literals(n.Args...)
		}
	}
	return nil
}
