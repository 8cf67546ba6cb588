// Package metamorphic runs random operations on the same documents kept in several
// ways (plain, sharded over 7 partitions by _id, sharded over 8 by another field,
// indexed, sharded and indexed), and wants the same answer from each, and from a
// naive model in the test that evaluates decoded documents.
//
// The generator keeps to operations whose answer MongoDB defines: sorts end in _id, single
// updates name one document, updates of many cannot fail half way.
//
// A failure prints its seed and a shrunk list of operations.
//
// Random pipelines run over documents in one partition and in eight, in memory and with
// so little of it that blocking stages spill, and want one answer.
//
//	CANTLE_SEED=123   repeat a run
//	CANTLE_SOAK=1     run as much as is due in a night, with fresh seeds
package metamorphic
