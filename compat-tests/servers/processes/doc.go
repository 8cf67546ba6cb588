// Package processes tests servers in processes of their own over a simulated TiKV cluster, which they reach
// over sockets. Several servers share one keyspace, unless one was started as exclusive. A server that is
// killed loses no acknowledged write and applies none twice. While the cluster is unavailable, commands fail
// with errors that clients can retry.
package processes
