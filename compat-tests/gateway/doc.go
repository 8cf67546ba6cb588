// Package gateway tests servers as processes of their own over a simulated TiKV cluster, which
// they reach over sockets: one at a time has a keyspace, one that is killed loses nothing that was
// acknowledged and does nothing twice, and clients are told what they can retry while the cluster
// is away.
package gateway
