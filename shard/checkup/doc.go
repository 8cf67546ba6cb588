// Package checkup checks a whole store that no server has open: the checksums of its files, and the
// consistency of their contents. cantle check prints its findings.
package checkup
