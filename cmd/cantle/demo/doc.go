// Package demo is the load of cantle demo: the orders of a shop with many tenants in a sharded collection with a
// provisioned throughput, of which one tenant becomes hot.
package demo
