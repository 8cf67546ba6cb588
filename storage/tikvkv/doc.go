// Package tikvkv keeps a store in a TiKV cluster, through TiKV's Go client (client-go, here
// "the client").
//
//	storage.Txn ── writebuf.Buffer ── at commit: a transaction of the client, under a fence
//	storage.Reader ── gets, batches and pages of scans at one PD timestamp: the newest one seen
//	                  by this process, if that is certain to be new enough; see known.go
//	change log ── filed by place, read in the order of commit times; its end from memory, see tail.go
//
// Terms:
//
//	oracle       PD's timestamp oracle (TSO); its PD timestamps are unique and increase across the cluster
//	commit time  the PD timestamp of a commit
//	place        the PD timestamp under which a log record is stored; fixed before the commit time is
//	window       the longest time that a commit time may be after the place of its log records
//	lease        the right of this process to use the store until a time; see lease.go
//	fence        refuses a commit that would come after its window or after the lease; see fence.go
//	passage      an in-flight commit, as the end of the change log in memory sees it; see tail.go
//	errand       one request through the client, with a timeout; see errand.go
//
// Differences from the contract of package storage:
//
//   - A latch lasts until all keys of the commit are committed, a little longer than Commit runs. If it ended
//     earlier, the next writer of a hot key would find the locks that are still there.
//   - Only the last sixteen log records of a commit have distinct timestamps.
//   - A key has at most 7,000 bytes, a transaction at most 96 MiB.
package tikvkv
