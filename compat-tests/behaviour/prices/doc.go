// Package prices compares the price lists with published charges of the service. Each row has a published charge, its source,
// and the same operation on the same shape of data at a real server, over TCP. docs/prices.md is printed from the rows.
package prices
