// Package path implements dotted field paths over raw documents, with the array rules of their three
// uses:
//
//	Traverse   queries: they look into arrays on the path, "a.0" is a position too
//	           (TraverseLeaf: also into one at its end)
//	Stop       aggregation: "$a.b" maps over arrays of documents
//	LeafOnly   index keys: every array is expanded, missing becomes null
//
// A Path is compiled once per command and immutable after that. Walking a path does not allocate; values
// alias the document.
//
// The rules for numbers in paths, of this package and of others, are in position.go.
//
// Glossary. Component: one name between dots. Position: the array index that a component like "0" can
// also mean. Trail: the array indices on the path to a value, outermost first. Leaf: the value of the
// last component.
package path
