// Package tools runs the programs that administrators point at a server, or, where those
// cannot be installed by a test, sends the commands they send and reads in the replies what
// they read.
//
//	mongoexpress/   mongo-express from npm, toured by hand of a headless Chromium and by plain
//	                HTTP: databases, collections, documents, searches, indexes, exports
//
// monitoring_test.go has the commands of mongodb_exporter, mongostat and mongotop, sent by a user with the
// roles those ask for; gui_test.go has what MongoDB Compass, Studio 3T and their like ask when they connect and while they are used.
//
// mongo-express is the last release whose package has its pages' scripts in it. compat-tests/rig/browser
// finds the Chromium.
package tools
