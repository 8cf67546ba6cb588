package schema

import "github.com/cantledb/cantle/wire/command"

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "checkMetadataConsistency", Run: runCheckMetadataConsistency, Action: "checkMetadataConsistency", Facts: command.Metadata, Since: "7.0", Doc: "reference/command/checkMetadataConsistency"},
		{Name: "cloneCollectionAsCapped", Parse: parseCloneAsCapped, Namespace: command.FirstField, Action: "find", ArgumentActions: []string{"insert", "createIndex", "convertToCapped"}, Facts: command.Writes | command.Metadata | command.SurvivesDisconnect, Doc: "reference/command/cloneCollectionAsCapped"},
		{Name: "collMod", Parse: parseCollMod, Namespace: command.FirstField, Action: "collMod", ArgumentActions: []string{"find"}, Facts: command.Writes | command.Stable | command.Metadata | command.SurvivesDisconnect, Unstable: []string{"collectionUUID"}, Doc: "reference/command/collMod"},
		{Name: "collStats", Aliases: []string{"collstats"}, Run: s.runCollStats, Namespace: command.FirstField, Action: "collStats", Facts: command.Metadata | command.Counts, Doc: "reference/command/collStats"},
		{Name: "compact", Run: s.runCompact, Namespace: command.FirstField, Action: "compact", Facts: command.Metadata | command.SurvivesDisconnect, Doc: "reference/command/compact"},
		{Name: "convertToCapped", Run: runConvertToCapped, Namespace: command.FirstField, Action: "convertToCapped", Facts: command.Writes | command.Metadata | command.SurvivesDisconnect, Doc: "reference/command/convertToCapped"},
		{Name: "create", Parse: parseCreateRequest, Namespace: command.FirstField, Action: "user", ArgumentActions: []string{"createCollection", "insert", "convertToCapped", "find"}, Facts: command.InTxn | command.Writes | command.Stable | command.Metadata,
			Unstable: []string{"autoIndexId", "capped", "indexOptionDefaults", "max", "size", "storageEngine"}, Doc: "reference/command/create"},
		{Name: "createIndexes", Run: runCreateIndexes, Namespace: command.FirstField, Action: "createIndex", Facts: command.InTxn | command.Writes | command.Stable | command.Metadata | command.SurvivesDisconnect, Unstable: []string{"collectionUUID"}, Doc: "reference/command/createIndexes"},
		{Name: "createSearchIndexes", Run: runSearchIndexes, Namespace: command.FirstField, Action: "createSearchIndexes", Facts: command.Silent, Since: "7.0", Doc: "reference/command/createSearchIndexes"},
		{Name: "dataSize", Aliases: []string{"datasize"}, Run: runDataSize, Namespace: command.FullName, Action: "find", Facts: command.Metadata | command.Counts, Doc: "reference/command/dataSize"},
		{Name: "dbStats", Aliases: []string{"dbstats"}, Run: s.runDBStats, Action: "dbStats", Facts: command.Metadata | command.Counts, Doc: "reference/command/dbStats"},
		{Name: "drop", Run: runDrop, Namespace: command.FirstField, Action: "dropCollection", Facts: command.Writes | command.Stable | command.Metadata, Unstable: []string{"collectionUUID"}, Doc: "reference/command/drop"},
		{Name: "dropDatabase", Run: runDropDatabase, Action: "dropDatabase", Facts: command.Writes | command.Stable | command.Metadata, Doc: "reference/command/dropDatabase"},
		{Name: "dropIndexes", Aliases: []string{"deleteIndexes"}, Run: runDropIndexes, Namespace: command.FirstField, Action: "dropIndex", Facts: command.Writes | command.Stable | command.Metadata, Unstable: []string{"collectionUUID"}, Doc: "reference/command/dropIndexes"},
		{Name: "dropSearchIndex", Run: runSearchIndexes, Namespace: command.FirstField, Action: "dropSearchIndex", Facts: command.Silent, Since: "7.0", Doc: "reference/command/dropSearchIndex"},
		{Name: "listCollections", Parse: parseListCollections, Action: "user", ArgumentActions: []string{"listCollections"}, Facts: command.Stable | command.Metadata, Doc: "reference/command/listCollections"},
		{Name: "listDatabases", Parse: parseListDatabases, Action: "user", ArgumentActions: []string{"listDatabases"}, Facts: command.AdminOnly | command.Stable | command.Metadata | command.Counts, Doc: "reference/command/listDatabases"},
		{Name: "listIndexes", Run: runListIndexes, Namespace: command.FirstField, Action: "listIndexes", Facts: command.Stable | command.Metadata, Doc: "reference/command/listIndexes"},
		{Name: "reIndex", Run: runReIndex, Namespace: command.FirstField, Action: "reIndex", Facts: command.Metadata, Doc: "reference/command/reIndex"},
		{Name: "renameCollection", Parse: parseRename, Namespace: command.FullName, Action: "user", ArgumentActions: []string{"renameCollectionSameDB", "find", "dropCollection", "insert", "createIndex"}, Facts: command.AdminOnly | command.Writes | command.Metadata, Doc: "reference/command/renameCollection"},
		{Name: "updateSearchIndex", Run: runSearchIndexes, Namespace: command.FirstField, Action: "updateSearchIndex", Facts: command.Silent, Since: "7.0", Doc: "reference/command/updateSearchIndex"},
		{Name: "validate", Run: s.runValidate, Namespace: command.FirstField, Action: "validate", Facts: command.Metadata | command.InterruptOnDrain, Doc: "reference/command/validate"},
		{Name: "validateDBMetadata", Parse: parseValidateDBMetadata, Action: "user", ArgumentActions: []string{"validate"}, Facts: command.Silent, Since: "5.0", Doc: "reference/command/validateDBMetadata"},
	}
}
