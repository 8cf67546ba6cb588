// Package settings is the room of settings that change while the server runs: server parameters, cluster parameters,
// the default read and write concern, and the feature compatibility version.
//
// The room holds all of these settings but the last, which the server holds. Parameters are lost when the process
// ends; the other settings are stored and read again (command.Server.LoadSetting). The room implements
// command.Settings.
//
// Invariants: a parameter without a row in paramTable or in clusterParams cannot be set. A value takes effect
// as a whole: readers see the old value or the new one.
//
// Words. A parameter belongs to this process (setParameter). A cluster parameter belongs to the data, for all servers
// (setClusterParameter). A default is the concern of commands that have none.
//
// Sources: the manual's pages reference/parameters, reference/cluster-parameters and
// reference/command/setDefaultRWConcern.
package settings
