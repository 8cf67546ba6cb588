// Package differential keeps the same documents in many ways and sends the same questions to all ways.
// Each answer must equal that of a scan. An evaluator in the test checks the answer of the scan.
// The main files:
//
//	ways_test.go       the ways to keep documents, one row each
//	places_test.go     servers on files and over a cluster, restarts, backups, partitions that move
//	manner_test.go     the manners of a question: batches, hints, equivalent forms
//	draw_test.go       documents and filters; questions_test.go, questions; indexes_test.go, indexes
//	bounds_test.go     min and max, by an index that all indexed ways have
//	arrays_test.go     projections of elements: a.$, $elemMatch, $slice
//	backwards_test.go  the same read from the other end
//	match_test.go      the evaluator, on decoded documents; it shares no code with the server
//	question_test.go   the comparison of answers
//	writes_test.go     writes in all ways; walk_test.go, writes between the batches of cursors
//	shrink_test.go     the smallest script that still differs
//
// Further tests: operations_test.go runs lists of operations in several ways and on a naive model,
// pipelines_test.go runs pipelines in one partition and in eight, spilled or not, merges_test.go runs
// $merge, collations_test.go runs writes under a default collation, fields_test.go runs projections
// by find and by findAndModify, cachedplans_test.go runs plans that were cached for another size,
// positions_test.go runs numbers in paths. The generators draw only operations whose result MongoDB
// defines: sorts end in _id, single updates name one document, updates of many cannot fail.
//
// To add a way, add a row to ways: the setup before the documents, and the supported questions. To add
// a form of questions, add a row to rewrites. Other variants of sending a question belong to manner.
//
//	CANTLE_SEED=123       only this set of documents, or only this list
//	CANTLE_LONG=nightly   the amount of a night, with fresh seeds
package differential
