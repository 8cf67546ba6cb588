package agg

// Stages is the table of all stages, in alphabetical order.
var Stages = []StageDef{
	stageAddFields,
	stageCount,
	stageGroup,
	stageLimit,
	stageMatch,
	stageMerge,
	stageOut,
	stageProject,
	stageReplaceRoot,
	stageReplaceWith,
	stageSet,
	stageSkip,
	stageSort,
	stageUnset,
	stageUnwind,
}
