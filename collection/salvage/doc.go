// Package salvage extracts the documents from the files of a store that cannot be opened any more, or only
// with losses, and reports what was lost. It only reads.
//
//	Catalog   the collections, as far as they can be read
//	Run       every document of them, and of collections that a damaged catalog lost, from tables, logs and change log
package salvage
