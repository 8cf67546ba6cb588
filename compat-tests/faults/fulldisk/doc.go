// Package fulldisk fills small file systems, in memory or in a file, with a server's data in every way that a
// client can. The server must keep running, answer reads, keep everything that it acknowledged, and accept
// writes again within a minute after space can be freed.
//
//	volume   a file system of its own, which needs the right to mount
//	server   a server on it, and checks of what clients were promised
//	full     the ways to fill a disk and to make room, each with its test
package fulldisk
