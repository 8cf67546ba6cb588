// Package crash kills the server in the middle of writes, and at each step of a change to the structure of a
// collection under load. Then it checks the data: every acknowledged write is there, no document is half
// written, duplicated or out of reach of its shard key, and every index agrees with the documents. Change
// streams that are resumed in each life see every change once.
//
//	CANTLE_LONG   nightly: every step 20 times
//	CANTLE_PART   "1/25": 4 kills during writes instead of 100 (package programme)
package crash
