// Package lint finds what an account of Azure Cosmos DB for MongoDB refuses: in commands, in
// logs of servers and in source text. Commands are run by a server of its own, in memory and
// without data, whose Cosmos address is lenient: the features that it counts are the findings.
// Source text is searched for names.
package lint
