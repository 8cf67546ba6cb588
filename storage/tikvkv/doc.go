// Package tikvkv keeps a store in a TiKV cluster, through TiKV's Go client.
//
//	storage.Txn ── writebuf.Buffer ── at commit: a transaction of the client, under a fence
//	storage.Reader ── gets, batches and pages of scans at one time of the oracle: the newest
//	                  one known, if that is certain to be new enough; see known.go
//	change log ── filed by place, read in the order of commit times; its end from memory, see tail.go
//
// Words. Oracle: PD's timestamp service; its times are unique and rise across the cluster.
// Commit time: the oracle's time of a commit. Place: the oracle's time a log record is filed
// under, given out before the commit has its own. Window: how much later than its place a
// commit may be. Lease: until when this process may use the store; see lease.go. Fence: what
// refuses a commit that would come after its window or its lease; see fence.go. Errand: one
// call of the client on behalf of a caller; see errand.go.
//
// What differs from the contract: a latch lasts until all keys of the commit are committed,
// which is a little later than when Commit returns: the next writer of a hot key would only
// meet the locks that are left. Timestamps of a commit's log records are distinct for the last
// sixteen of them. Keys have at most 7,000 bytes, a transaction at most 96 MiB.
package tikvkv
