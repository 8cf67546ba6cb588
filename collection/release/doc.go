// Package release has the releases of MongoDB that a client can be shown, and the one table of
// what changed between them.
//
// What a release added (an operator, a stage, an option, a command) is always there, whatever
// release is shown: nobody who does not use it can tell. What a release changed, so that the
// same request is answered otherwise than before, is a row of the table in behaviours.go. Where
// the answer is made, the code asks the release of its environment, as a rule while it parses:
//
//	if env.Release.Has(release.NullSkipsUndefined) { … }
//
// The release of a connection is that of its listener (command.Call.Release). What is kept in
// the catalog and holds for every client (validators, filters of partial indexes) follows the
// release of the server (catalog.Catalog.Release); a view is parsed by whoever reads it, with
// the release of that connection.
package release
