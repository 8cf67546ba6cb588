// Package casefile reads and runs case files: plain text tables of inputs and expected outputs that stand
// beside the code they test.
//
//	# What the file proves. Manual: reference/operator/query/mod
//	match
//	filter: {a: {$mod: [4, 0]}}
//	doc: {a: 8}
//	doc: {a: "8"}
//	----
//	true
//	false
//
// A case is a verb line, input lines, a line of four dashes and the expected output up to the next blank
// line. An input line is one of
//
//	key: value      an argument; lines indented by two spaces continue the value
//	{...} or [...]  a bare argument, whose key is ""
//	word            a bare argument too (for example "more")
//	# text          a comment
//
// The key "releases" lists the releases of MongoDB for which a case holds ("7.0 8.0", or "8.0+" for 8.0 and
// later): it is run once at each. Without the key a case is run at the default release, and its output is the
// same for all releases or is not known to differ.
//
// Comments stand between cases or among the inputs, and survive a rewrite. Output that itself contains blank
// lines is written between doubled dashes:
//
//	show
//	----
//	----
//	first
//
//	second
//	----
//	----
//
// `go test ./some/package -rewrite` replaces the expected outputs by the actual ones. Read the diff before
// you commit it: a rewritten case proves nothing until a reviewer has checked it.
//
// Values are passed as text. Callers parse them, as a rule with bson/ejson.
package casefile
