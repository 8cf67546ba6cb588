// Package checkup looks through a whole store that no server has open: the checksums of
// its files, and whether what they hold fits together. cantle check prints what it finds.
package checkup
