// Package settings is the room of what can be set while the server runs: server parameters,
// cluster parameters, the default read and write concern, and the feature compatibility
// version.
//
// The room owns all of them but the last: parameters are lost with the process, the others
// are kept in the store and read again (command.Server.Keep). It answers the chain's hooks
// DefaultConcerns, ReadLimit, Attached and Parameter.
//
// Invariants: what has no row in paramTable, or in clusterParams, cannot be set. A value is complete before it
// takes effect: readers see the old or the new one.
//
// Words: a parameter belongs to this process (setParameter), a cluster parameter to the data
// (setClusterParameter), a default is what commands mean that leave a concern out.
//
// Sources: the manual's pages reference/parameters, reference/cluster-parameters and
// reference/command/setDefaultRWConcern.
package settings
