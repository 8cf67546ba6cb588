// Package gateways tests several servers over one store at the same time, in one process, each with a
// listener of its own, by the official driver: over the in-process simulator of TiKV. What
// users start refuses a second server; these tests open the store for several.
package gateways
