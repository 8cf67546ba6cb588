// Package lint finds the features that an account of Azure Cosmos DB for MongoDB refuses: in commands, in logs of
// servers, in source text, and in the catalog of a server and the requests that the server counts. Harmless commands
// are run by a server inside the linter, in memory and without data. The Cosmos address of that server is lenient: it
// accepts features that the account lacks, and counts them; these counts are the findings. Collections of a catalog
// are made on the same server. Source text, and the rest of commands, is checked by names.
package lint
