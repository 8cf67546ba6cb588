// Package lint finds what an account of Azure Cosmos DB for MongoDB refuses: in commands, in
// logs of servers, in source text, and in the catalog of a server and the requests that it counts.
// Commands are run by a server of its own, in memory and without data, whose Cosmos address is
// lenient: the features that it counts are the findings. Collections of a catalog are made there.
// Source text is searched for names.
package lint
