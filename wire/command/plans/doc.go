// Package plans is the room of query plans: explain, the plan cache with its index filters, query settings, and the
// statistics of executions.
//
// The room holds the query settings, which survive a restart; the plan cache and its index filters belong to the
// cluster. The room implements command.Planner, and provides the stages $planCacheStats, $querySettings and $queryStats.
//
// Explain opens the same read as the command would, and formats the description of its operators; with
// executionStats it also runs the read. A write is explained by the read that finds its documents, and
// changes nothing.
//
// Words. Shape: a query without its values. Hash: the hash of a shape. Report: the reply of explain under
// construction. Azure Cosmos DB has its own form of the report, in explain_cosmos.go.
//
// Sources: the manual's pages reference/explain-results, reference/command/nav-plan-cache,
// reference/command/setQuerySettings and reference/operator/aggregation/queryStats.
package plans
