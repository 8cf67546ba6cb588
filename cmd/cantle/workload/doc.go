// Package workload computes the cost of a workload before there is a server, for cantle estimate: the RU of each
// operation, by the code by which a server charges, and the throughput, storage and partitions that all operations
// together need.
package workload
