// Package release has the releases of MongoDB that a server can report to clients, and the one
// table of what changed between them.
//
// What a release added (an operator, a stage, an option, a command) is available on all addresses of MongoDB,
// whatever release is reported: a client that does not use it sees no difference. If a release changed the answer to
// a request, the change is a row of the table in behaviours.go. The code that makes the answer checks the release of
// its environment, usually while it parses:
//
//	if env.Release.Has(release.NullSkipsUndefined) { … }
//
// The release of a connection is that of its listener (command.Call.Release). Definitions in the
// catalog that hold for every client (validators, filters of partial indexes) follow the release of
// the server (catalog.Catalog.Release). A view is parsed by each reader, with the release of the
// reader's connection.
package release
