// Package fulldisk fills small file systems of their own, in memory or in a file, with a
// server's data in every way that a client has, and wants the server to live, to answer reads, to
// have all that it acknowledged, and to take writes again within a minute of there being
// something that can be let go.
//
//	volume   a file system of its own, which needs the right to mount
//	server   a server on it, what clients were told and whether that is so
//	full     the ways to fill a disk and to make room, each with its test
package fulldisk
