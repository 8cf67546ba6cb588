// Package agg is the aggregation framework: pipelines of stages.
//
//	stages ── read ──► namespaces, writes            (privileges, views)
//	       ── Parse ──► Pipeline ── Optimize ──► Pipeline ── Divide ──► shards' part, merge part, order
//	                                                │                     └── Front ──► what the planner takes over
//	                                                └── Open(input, Opener) ──► exec.Operator
//
// A Pipeline and its stages are descriptions: immutable, safe for concurrent use, printable. Open makes the
// running operators of one command from them. Each operator pulls rows from its input. A row belongs to the
// operator that returned it and is valid until the next Next, Park or Close of that operator.
//
// Blocking stages count their memory in env.Memory. When that budget is used up, they write sorted runs to an unlinked
// temporary file, or fail with error 292 if the command may not use the disk.
//
// A stage file holds the stage's row, its parse function, its description and its operator; an accumulator file the
// accumulator's row and states. Stages, Accumulators and WindowFunctions are the tables.
//
// Glossary. Skim: a first, cheap pass over a pipeline, which reads the arguments with names of collections and
// users. Divide: cut a pipeline into a part that runs in each shard and a part that runs on the merged rows.
// Partial: the state of an accumulator as a BSON value, which another state can merge. Front: the leading
// stages that the planner answers. Desugar: parse a stage into several simpler stages ($bucket is $group and
// $sort).
//
// Manual: core/aggregation-pipeline, reference/operator/aggregation-pipeline.
package agg
