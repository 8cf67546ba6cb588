// Package duty assigns each background job (a duty) to one server of several over the same store, its owner.
// Each duty has a row with the owner. A server takes a duty if its row has no owner, or if the lease of the
// owner has expired. So after a server has died, its duties go to peers when its lease ends, and duties need
// no leases of their own.
//
// If the lease of a server expires and the server rejoins, it has lost all its duties, whether peers have
// taken them or not. Each transaction of a duty checks that with Guard, and the store refuses commits of
// transactions that began under the old lease.
//
// A duty may have a note: its progress, which peers show, and requests of peers to its owner.
//
// The row of a duty has the key keyspace.MetaJob, "duty." ‖ name, and this value:
//
//	field   bytes             meaning
//	owner   16                member of the store that owns the duty
//	epoch   8, big-endian     the number of times that the duty was taken, from 1
//	note    the rest          of the job; for work on a collection a BSON document (shard/jobs)
package duty
