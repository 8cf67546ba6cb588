// Package tikvengine adds the storage engine for TiKV clusters to the cantle program. A server that is embedded in
// another program omits it, because it requires TiKV's client library.
package tikvengine
