// Package processes tests servers as processes of their own over a simulated TiKV cluster, which they
// reach over sockets. Several servers share one keyspace, unless one was started to have it alone. A
// server that is killed loses no acknowledged write and makes none twice. While the cluster is away,
// commands fail with errors that clients can retry.
package processes
