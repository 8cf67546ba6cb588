// Package crash kills the server in the middle of writes, and at each step of what
// changes the structure of a collection under load, and checks what is left: every
// acknowledged write is there, no document is half written, there twice or where its
// shard key does not find it, and every index agrees with the documents. Change streams
// that are resumed from life to life see every change once.
//
//	CANTLE_LONG   nightly: every step 20 times
//	CANTLE_PART   "1/25": 4 kills during writes instead of 100 (package programme)
package crash
