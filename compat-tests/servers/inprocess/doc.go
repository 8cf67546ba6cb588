// Package inprocess tests several servers over one store at the same time, through the official driver. All
// of them run in the process of the test, each with a listener of its own, over the in-process simulator of
// TiKV, so that a test can inspect them and starts no program.
package inprocess
