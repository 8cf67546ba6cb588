// Package balance decides when shards split and merge; package jobs carries it out.
//
//	catalog, tally, budgets ──► loads ──► Decide (pure) ──► Runner.Split, Merge
//
// A shard splits if a zone begins or ends inside it, if it holds more bytes than the policy allows, or if the RU/s of
// its collection require more shards than exist: N = RU/s ÷ maximum of one shard, rounded up. Lowering the RU/s alone
// never reduces the number of shards; merging cold neighbours is a separate policy, off by default.
// Source: Azure Cosmos DB, "partitioning-overview".
package balance
