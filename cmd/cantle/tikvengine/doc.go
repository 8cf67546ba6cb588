// Package tikvengine is the storage engine for TiKV clusters as the program offers it. A server that
// is embedded in another program goes without: it would bring TiKV's client along.
package tikvengine
