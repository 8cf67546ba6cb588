// Package tikvfake is a TiKV cluster for tests: the simulator that comes with TiKV's Go client,
// in process or over sockets, with ways to make it misbehave. It is exact for commits in two phases; it knows
// none in one phase and no asynchronous ones, no limit of keys, no Raft and no disk.
package tikvfake
