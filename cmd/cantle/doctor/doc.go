// Package doctor checks what a server needs on its machine: folder, disk, limits, clock, certificates, addresses.
// It measures and tries instead of reading other programs' settings, and changes nothing permanently. Package cli
// queries the running server.
package doctor
