package ratelimit

// Expensive is the average charge of a query above which reports warn. Above it, the documentation of Azure Cosmos DB
// recommends to examine the query.
// Source: Azure Cosmos DB for MongoDB, "troubleshoot-query-performance".
const Expensive = 50 * RU
