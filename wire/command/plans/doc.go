// Package plans is the room of how reads are run, and of who says so: explain, the plan cache
// with its index filters, and query settings.
//
// The room owns the query settings, which last beyond a restart; the plan cache and its
// filters are the cluster's. It answers the chain's hooks HasSettings, ApplySettings and
// Explain, and the stages $planCacheStats and $querySettings.
//
// Explain opens the same read that the command would, and prints what it knows of itself;
// with executionStats it runs it too. A write is explained by the read that finds its
// documents, and changes nothing.
//
// Words: the shape of a query is what is left of it without its values, and the hash is that
// of its shape. A report is the reply of explain in the making. Azure Cosmos DB has a
// verbosity of its own, in explain_cosmos.go.
//
// Sources: the manual's pages reference/explain-results, reference/command/nav-plan-cache and
// reference/command/setQuerySettings.
package plans
