package tidy

import (
	"go/ast"
	"go/token"
)

// stageWords lists, by path, the files that may name stages of other files, each with the reason: the words have
// another meaning there, or are necessary.
var stageWords = map[string]string{
	"collection/geo/near.go":                 "$geoNear is an old name of the query operator $near",
	"collection/match/geo_near.go":           "$geoNear is an old name of the query operator $near",
	"collection/match/text.go":               "$text has its words in a field $search",
	"collection/match/validator.go":          "validators may not have the query operators that sort, of which $geoNear is an old one",
	"collection/project/stages.go":           "package project parses what stages and updates have in common, named as its callers do",
	"collection/update/array_push.go":        "$push has a $sort of its own",
	"shard/cluster/cosmos.go":                "Cosmos DB wants $match and $project, in this order, behind $changeStream",
	"shard/ledger/bill.go":                   "a client of the server makes the bill by a pipeline",
	"wire/command/data/query_parts.go":       "the column Query of the commands says where an aggregate has its filter and its sort",
	"wire/command/shards/keydistribution.go": "updates have $set and $unset, and $replaceWith as a stage",
}

// checkStages reports code in collection, shard and wire that distinguishes stages by name: it compares with a name,
// looks one up, or lists several. Only the file with the stage's row may do so; all other code uses a field of the
// row. Code that builds a pipeline names stages too, and may.
func checkStages(r *repo, report reporter) {
	homes := r.stageHomes()
	for _, f := range r.files {
		if f.test || !(under(f.dir, "collection") || under(f.dir, "shard") || under(f.dir, "wire")) || stageWords[f.path] != "" {
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

// stageHomes returns the names of all stages, each with the file of its row.
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

// knownWords returns the string literals by which a node of Go's syntax distinguishes cases: operands of comparisons,
// cases of a switch, elements of a list, keys of a lookup.
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
