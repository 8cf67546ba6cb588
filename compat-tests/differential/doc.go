// Package differential keeps the same documents in many ways, puts the same questions to all of
// them and wants one answer: that of a scan, which an evaluator in the test has to give as well.
//
//	ways_test.go       how documents are kept: a row each
//	places_test.go     servers on files and over a cluster, restarts, backups, partitions that move
//	ask_test.go        how a question is asked: batches, hints, other forms of it
//	draw_test.go       documents and filters; questions_test.go, questions; indexes_test.go, indexes
//	bounds_test.go     min and max, by an index that all indexed ways have
//	arrays_test.go     projections of elements: a.$, $elemMatch, $slice
//	backwards_test.go  the same read from the other end
//	match_test.go      the evaluator, on decoded documents; it shares no code with the server
//	question_test.go   which answers are one
//	writes_test.go     writes in all ways; walk_test.go, writes between the batches of cursors
//	shrink_test.go     the smallest script that still differs
//
// Beside these, operations_test.go runs lists of operations in several ways and on a naive model
// that does them as well, pipelines_test.go pipelines in one partition and in eight, spilled or not,
// merges_test.go $merge, collations_test.go writes under a default collation, fields_test.go
// projections by find and by findAndModify, cachedplans_test.go plans that were remembered for
// another size, positions_test.go numbers in paths. Their generators keep to operations whose answer
// MongoDB defines: sorts end in _id, single updates name one document, updates of many cannot fail.
//
// A new way is a row of ways: what has to be made before the documents, and which questions it
// takes. What has no row asks by a manner, as a new form does by a row of rewrites.
//
//	CANTLE_SEED=123   that set of documents alone, or that list
//	CANTLE_SOAK=1     as much as is due in a night, with fresh seeds
package differential
