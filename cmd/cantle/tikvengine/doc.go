// Package tikvengine is the storage engine for TiKV clusters as the program offers it. A server that is embedded
// in another program omits it, because it requires TiKV's client.
package tikvengine
