// Package shards is the room of partitions and of their throughput: sharding commands, zones,
// the analysis of shard keys, and customAction, in which the extensions of Azure Cosmos DB
// are.
//
// All partitions of a collection lie in this process, and to clients they look like the
// shards of a cluster: partition 3 of any collection lies on the shard p3. What is done to
// partitions stands in shard/ddl and shard/jobs; here are the commands, the documents that
// the config database shows, and what those need to remember.
//
// The room owns: whether the balancer is off, what shapes of commands cost (shapes), zones
// and the shards they were given to, zone ranges of collections that are not sharded yet
// (plannedZones), the query analyzers, and the documents of config.settings. All but the
// first two last beyond a restart. It answers the chain's hooks Gone and UpdateVirtual, the
// collections of the database config, and the stages $listSampledQueries and
// $shardedDataDistribution; it sees each command that ends, for the shapes.
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
