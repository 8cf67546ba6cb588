// Package collection names things: databases, collections and users. Its sub-packages are the document engine. The
// main ones, from the language to one document's write:
//
//	mql        the environment of one command's language code (Env)
//	expr       aggregation expressions        match    filters
//	project    document transforms            update   update operators
//	order      sort patterns and keys         index    index specs and keys
//	catalog    databases, collections, indexes, shard maps, as snapshots
//	plan       canonical query → solutions    exec     solutions → operators
//	write      one document into one shard    agg      pipelines
//	changelog  the record of committed writes
//
// ARCHITECTURE.md has the levels of imports.
package collection
