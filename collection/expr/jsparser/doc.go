// Package jsparser parses JavaScript within bounds. It is goja's parser, copied by
// scripts/genparser with few changes: goja's own reads the parameters of an arrow function
// twice, those of arrow functions in them four times and so on, calls itself as deep as a
// text nests, and cannot be stopped.
package jsparser
