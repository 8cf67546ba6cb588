// Package modules looks at how old the modules are that the program links. What is older than a year is
// listed in old.txt, with the reason.
package modules
