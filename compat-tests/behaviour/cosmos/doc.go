// Package cosmos tests the address that emulates Azure Cosmos DB for MongoDB, with the requests of an
// account's applications: drivers with the account's connection string, and the service's own samples.
package cosmos
