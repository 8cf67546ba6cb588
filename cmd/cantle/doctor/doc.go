// Package doctor looks at what a server needs of its machine: folder, disk, limits, clock,
// certificates, addresses. It measures and tries rather than reads settings of others, and
// changes nothing that lasts. What a running server knows is asked by package cli.
package doctor
