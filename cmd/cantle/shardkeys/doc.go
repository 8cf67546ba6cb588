// Package shardkeys ranks the shard keys that a collection could have, for cantle advise: by the collection's
// documents, and by the requests that a server has recorded.
package shardkeys
