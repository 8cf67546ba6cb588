// Package drivers runs the official drivers, and some mappers, against the server: one folder per client, each with a
// program that users of the driver would recognise. Each program runs against both personalities (mongodb, cosmos),
// against mongodb with authentication and TLS (the variant secure), and against three servers over one store, whose
// connection string has all their addresses (several) or that of a load balancer before them (balanced).
//
// A program reads
//
//	CANTLE_URI          the connection string
//	CANTLE_ONE_URI      the connection string of one of several servers, for areas about a
//	                    single one (fail points, pools); else the same
//	CANTLE_PERSONALITY  mongodb or cosmos: the product that the server emulates
//	CANTLE_CA_FILE      the authority to trust, for drivers that ignore tlsCAFile in a
//	                    connection string; empty without TLS
//	CANTLE_ROOT         the folder of this repository, which the Go driver's program needs
//
// and prints one line per area of the table below, `client area ok`, `client area skip reason` or `client area FAIL
// reason`; other output is shown only if something fails. An area that a program promises (see table.go) and does not
// report counts as failed.
//
//	connect       connection strings of every form, the reply to hello
//	crud          documents written, found, changed, deleted
//	bulk          many writes at once, which of them failed
//	bulkwrite     many writes to several collections by one command of MongoDB 8.0
//	cursors       batches, limits, cursors closed early
//	indexes       made, listed, used, dropped
//	aggregation   pipelines
//	gridfs        files
//	sessions      causal consistency, snapshots, sessions ended
//	transactions  commit, abort, conflicts and their retries
//	retryable     writes and reads that lose their connection or reply
//	changestreams watching and resuming
//	throttling    a sharded collection with a budget below its load: 16500, waiting as
//	              requested, the driver's own retries where it has them
//	errors        codes and how drivers handle them
//	compression   of messages, by every method the driver has
//	pool          more operations than connections; clients that connect and disconnect
//	hosts         of several servers all are found, and work goes to more than one. If one drops
//	              its connections, work goes on at another one. If one is shut down, there are no
//	              errors, even where drivers do not retry. The last server has stopped then
//
// Folders are copied to .cache/clients and their dependencies installed there, once per content. The results are
// compared with matrix.txt, which scripts/gendocs prints into README.md; -rewrite accepts a new one.
package drivers
