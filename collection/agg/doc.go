// Package agg is the aggregation framework: pipelines of stages.
//
//	stages ── read ──► namespaces, writes            (privileges, views)
//	       ── Parse ──► Pipeline ── Optimize ──► Pipeline ── Divide ──► shards' part, merge part, order
//	                                                │                     └── Front ──► what the planner takes over
//	                                                └── Open(input, Opener) ──► exec.Operator
//
// A Pipeline and its stages are descriptions: immutable, safe for concurrent
// use, printable. Open makes the running operators of one command from them.
// Operators pull rows from the one before; a row belongs to the operator that
// returned it and is valid until its next Next.
//
// Blocking stages count what they hold in env.Memory. When that budget is used
// up they write sorted runs to a temporary file that has no name any more, or
// fail with error 292 if the command may not use the disk.
//
// A stage file holds the stage's row, its parse function, its description and
// its operator; an accumulator file the accumulator's row and states. Stages,
// Accumulators and WindowFunctions are the tables.
//
// Glossary. Skim: first cheap pass over a pipeline, which reads the arguments that name something. Divide: cut a pipeline into
// a part that runs in each shard and one that runs on the merged stream.
// Partial: the state of an accumulator as a BSON value, so that another one can
// take it in. Front: the leading stages that the planner answers. Desugar: parse
// a stage into several simpler ones ($bucket is $group and $sort).
//
// Manual: core/aggregation-pipeline, reference/operator/aggregation-pipeline.
package agg
