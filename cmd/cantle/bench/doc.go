// Package bench is the load of cantle bench: mixes of operations on one collection, among them the core workloads of
// YCSB by their letters, sent by several threads at full speed or at a rate, with latencies, request units, refusals
// and retries. It works with any MongoDB server.
// Source: Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010.
package bench
