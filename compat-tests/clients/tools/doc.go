// Package tools runs programs that administrators use with a server. For the programs that they do not install, the
// tests send the program's commands, and check the fields that it reads in the replies.
//
//	mongoexpress/   mongo-express from npm, used through a headless Chromium and by plain
//	                HTTP: databases, collections, documents, searches, indexes, exports
//
// monitoring_test.go has the commands of mongodb_exporter, mongostat and mongotop, sent by a user with the roles that
// these programs require; gui_test.go has the commands of MongoDB Compass, Studio 3T and similar programs when they
// connect and while they are used.
//
// mongo-express is pinned to the last release whose package contains the scripts of its pages.
// compat-tests/rig/browser finds the Chromium.
package tools
