// Package cosmos tests the address that looks like Azure Cosmos DB for MongoDB as
// applications of an account use it: drivers with the account's connection string, and what
// the service's own samples send.
package cosmos
