// Package cosmos tests the Cosmos address, which emulates an account of Azure Cosmos DB for MongoDB, with the
// requests that applications of an account send: drivers with the account's connection string, and the service's own
// samples.
package cosmos
