// Package skew judges how a load is spread over the partitions of a collection: evenly, on a hot partition, or at the
// limit of all. The console, the commands GetPartitions, GetRequestReport and serverStatus, and with these the verbs
// of the program, use this one rule. The alerts CantleHotPartition and CantleUnevenPartitions in
// packaging/monitoring/rules.yml are its form for Prometheus; a test compares the constants.
//
// A partition is hot in one of two cases. In the first, it is at its limit and the others have room, so that more RU/s
// for the collection would mostly go to partitions that do not need them. In the second, its load is far above its
// fair share, which is the load divided by the number of partitions. If all partitions are at their limit, none is
// hot: then more RU/s help.
//
// Judge uses sums of a time, Past.Judge also the order in which the load came: a diagonal, waves, or heat that has
// ended.
// Source: Azure Cosmos DB, "monitor normalized request units" (hot partition: one range at 100 % while others are not).
package skew
