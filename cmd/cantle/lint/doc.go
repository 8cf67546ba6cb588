// Package lint finds what an account of Azure Cosmos DB for MongoDB refuses: in commands, in
// logs of servers, in source text and in the catalog of a server. Commands are run by a server of
// its own, in memory and without data, whose Cosmos address is lenient: what that counts are the
// findings. Source text is searched for names.
package lint
