// Package doctor checks the parts of a machine that a server needs: folder, disk, limits, clock, certificates,
// addresses. It measures and tries instead of reading the settings of other programs, and changes nothing
// permanently. The checks of a running server are in package cli.
package doctor
