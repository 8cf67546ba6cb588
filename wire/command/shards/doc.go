// Package shards is the room of partitions and of their throughput: sharding commands, zones, the analysis of
// shard keys, and customAction with the extension commands of Azure Cosmos DB.
//
// To clients, partitions look like the shards of a cluster: partition 3 of any collection is on the shard p3. The
// operations on partitions are in shard/ddl and shard/jobs. This package has the commands, the documents of the
// config database, and the state behind them.
//
// The room holds the switch of the balancer, the charges of commands by their shape (shapes), the zones with the
// shards assigned to them, the zone ranges of collections that are not sharded yet (plannedZones), the query
// analyzers, the documents of config.settings, and a sample of recent statements (traffic). All but the shapes and
// the sample survive a restart. The room implements command.Sharding, and provides the collections of the database
// config and the stages $listSampledQueries and $shardedDataDistribution. It observes each command that ends.
//
// Words:
//
//	partition     a range of a collection's keys with a throughput of its own
//	chunk         what sharding commands call it; each partition is one
//	zone          ranges of shard keys that have partitions of their own
//	shape         a command without its values, of which GetRequestReport shows the sums
//	analyzer      what samples the queries of a collection for analyzeShardKey
//	switch        a feature of a throughput that can be on, off or inherited
//
// Sources: the manual's pages reference/command/nav-sharding, reference/config-database and
// core/zone-sharding; Azure Cosmos DB's pages on the extension commands, throughput buckets
// and redistributing throughput across partitions.
package shards
