// Package differential keeps the same documents in many ways, puts the same questions to all of
// them and wants one answer: that of a scan, which an evaluator in the test has to give as well.
//
//	ways_test.go       how documents are kept: a row each
//	ask_test.go        how a question is asked: batches, hints, other forms of it
//	draw_test.go       documents and filters; questions_test.go, questions; indexes_test.go, indexes
//	match_test.go      the evaluator, on decoded documents; it shares no code with the server
//	question_test.go   which answers are one
//	shrink_test.go     the smallest script that still differs
//	known_test.go      faults that are not mended yet
//
// The server is the one that is released, built without the tag of other tests.
//
// A new way is a row of ways: what has to be made before the documents, and which questions it
// takes. What has no row asks by a manner, as a new form does by a row of rewrites.
//
//	CANTLE_SEED=123   ask that set of documents alone
//	CANTLE_SOAK=1     as much as is due in a night
package differential
