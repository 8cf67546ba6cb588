// Package schema is the room of databases, collections, views and indexes: to make, change,
// list, measure, check and drop them.
//
//	arguments ─► the options they mean ─► shard/ddl or the catalog ─► reply
//
// A command's file reads its arguments and prints the reply; what is done stands in shard/ddl
// and in the catalog, and collections are validated in shard/cluster. The room has no state
// of its own. It answers the stages $collStats, $indexStats and $listClusterCatalog.
//
// Invariant: options that contradict each other are refused before anything is written.
//
// Words: create_*.go and collmod_*.go are the families of options of create and collMod. A
// derived namespace is a view or a time-series collection: what is read there is made from
// another collection, for a time series from its buckets.
//
// Sources: the manual's pages reference/command/nav-administration, core/views,
// core/timeseries-collections, core/clustered-collections and core/schema-validation.
package schema
