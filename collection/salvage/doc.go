// Package salvage gets the documents out of the files of a store that cannot be opened any
// more, or not without losses, and tells what was lost. It only reads.
//
//	Catalog   which collections there are, as far as that can be read
//	Run       every document of them, from tables, logs and the change log
package salvage
