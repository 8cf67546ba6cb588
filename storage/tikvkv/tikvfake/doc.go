// Package tikvfake simulates a TiKV cluster for tests. It is the simulator that comes with TiKV's Go client,
// in process or over sockets, with faults that can be injected. It is exact for two-phase commits. It does
// not simulate one-phase and asynchronous commits, limits of keys, Raft or disks.
package tikvfake
