// Package isolation checks the isolation of transactions, through the official driver against a running
// server: the known anomalies one by one, and workloads of many clients whose recorded histories are checked
// afterwards by package histories, without data of the server.
//
// A workload runs for two seconds. All but that of TestCounts run once more against a server that is killed at
// random times; CANTLE_LONG=nightly repeats that for ten minutes.
//
// The anomalies are those of the literature: P0 dirty write, G1a aborted read, G1b intermediate read, G1c
// circular information flow, P4 lost update, G-single read skew, and G2-item write skew, which snapshot
// isolation allows.
package isolation
