// Package prices compares the price lists of the server with published charges of the service. Each row has a
// published charge, its source, and the same operation on data of the same shape, which the package runs on a real
// server. docs/prices.md is printed from the rows.
package prices
