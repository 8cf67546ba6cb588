// Package cosmos has the features of Azure Cosmos DB for MongoDB (RU-based), as tables: one row for each command,
// stage, operator, variable, accumulator, kind of index, option, limit and rule of indexes, with the server versions
// that have it, the capability that adds it, the error of an account without it, and its source.
//
// An Account is the version and the capabilities that the Cosmos address offers. Where a language
// or a command finds its own row for a name, it also calls Client.Check, which rejects features
// that the account does not have, or only counts them if the account is lenient.
//
// A name without a row is not listed by the service; an account rejects it as well.
//
// Sources are pages of Azure Cosmos DB's documentation. Without one, a row is that of the pages
// "feature-support-36" to "feature-support-70".
package cosmos
