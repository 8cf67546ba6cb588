// Package shardkeys ranks the shard keys that a collection could have, by its documents and by the
// requests that a server has recorded.
package shardkeys
