// Package schema is the room of databases, collections, views and indexes: commands that create, change,
// list, measure, check and drop them.
//
//	arguments ─► the options they mean ─► shard/ddl or the catalog ─► reply
//
// The file of a command reads its arguments and formats the reply; the operations are in shard/ddl and in the
// catalog, and collections are validated in shard/cluster. The room has no state of its own. It provides the
// stages $collStats, $indexStats, $listCatalog and $listClusterCatalog.
//
// Invariant: contradicting options are refused before anything is written.
//
// Words. create_*.go and collmod_*.go are groups of options of create and collMod. A derived namespace is a view, the
// buckets of a time series, or a virtual collection: its documents are computed when it is read.
//
// Sources: the manual's pages reference/command/nav-administration, core/views,
// core/timeseries-collections, core/clustered-collections and core/schema-validation.
package schema
