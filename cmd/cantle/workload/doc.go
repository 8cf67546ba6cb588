// Package workload prices a workload before there is a server: the request units of each operation, by the code
// that a server charges by, and the throughput, storage and partitions that all together need.
package workload
