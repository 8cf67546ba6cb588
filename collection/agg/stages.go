package agg

// Stages is the table of all stages, in alphabetical order.
var Stages = []StageDef{
	stageAddFields,
	stageCount,
	stageDocuments,
	stageFacet,
	stageGroup,
	stageLimit,
	stageMatch,
	stageMerge,
	stageOut,
	stageProject,
	stageRedact,
	stageReplaceRoot,
	stageReplaceWith,
	stageSample,
	stageSet,
	stageSkip,
	stageSort,
	stageSortByCount,
	stageUnionWith,
	stageUnset,
	stageUnwind,
}
