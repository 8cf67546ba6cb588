// Package language runs the case files of the language packages against a whole server: the documents of a
// case go into a collection, its filter, update, projection or sort goes over the wire, and the reply must equal
// the expected output of the file, as in the test of the package.
//
// Every case runs in four layouts: one partition and eight, each without and with indexes on the paths that the case
// names, so that plans differ while replies must not.
//
// The verbs match, apply, upsert, project, sort, pattern, collation, eval and run are sent; the others (normalize,
// bounds, ...) test internals of the packages. Some arguments of a case are for this package and have no effect in
// the others:
//
//	index: {a: "2dsphere"}   an index that the case needs, made in every layout
//	order: kept              the result of a pipeline depends on the order of the documents
//	wire: reason             the case holds only inside its package, for this reason
//
// Documents without _id get one, which is removed again before the comparison.
//
//	go test ./compat-tests/behaviour/language -run 'TestLanguage/match/mod.txt:3'
package language
