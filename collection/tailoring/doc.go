// Package tailoring orders strings by the collation rules of CLDR, for the locales whose order golang.org/x/text/collate
// does not have, or has in an older form.
//
// rules.txt holds the rules as CLDR 29 has them, the version of ICU 57.1, whose order MongoDB's collations have. A rule
// places strings behind (or before) others of the root order: &C<č<<<Č. The first use of a locale compiles its rules to a
// Table: tailored strings with their weights of three levels. The weights of all other text come from the root order of
// x/text/collate, so that a tailored weight is a root weight with an appended number.
//
// Source: Unicode Technical Standard 35, part 5 (rule syntax), and 10 (matching of contractions).
//
//	rules.go    the syntax of rules
//	data.go     rules.txt, and the import of the rules of another locale
//	nodes.go    the order of tailored strings between root weights
//	compile.go  rules to weights
//	table.go    matching in text
//	scripts.go  the order of scripts
//	root.go     weights of the root order
package tailoring
