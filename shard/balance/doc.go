// Package balance decides when shards split and merge, and has package jobs do
// it.
//
//	catalog, tally, budgets ──► loads ──► Decide (pure) ──► Runner.Split, Merge
//
// A shard splits when it holds more bytes than the policy allows, and when the
// RU/s of its collection need more shards than there are: N = RU/s ÷ what one
// shard carries, rounded up. Lower RU/s never reduce the number of shards;
// merging cold neighbours is a policy of its own, off by default.
// Source: Azure Cosmos DB, "partitioning-overview".
package balance
