// Package account translates indexes, shard keys, roles and users of an account of Azure Cosmos DB
// for MongoDB (RU), and lists the parts that have no counterpart in MongoDB.
package account
