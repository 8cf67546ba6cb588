package abuse

// beyondRoles are attacks by which a user tries to do more than its roles permit: fields that come twice, numbers
// that are not whole, names in other forms. None may succeed.
var beyondRoles = []attack{
	{name: "a field twice in a stage", by: "tenant", db: "tenant", refused: true, cmds: []string{
		`{aggregate: "c", pipeline: [{$unionWith: {coll: "c", coll: "system.users", db: "tenant", db: "admin"}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", from: {db: "admin", coll: "system.users"}, pipeline: [], as: "x"}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$graphLookup: {from: "c", from: "system.profile", startWith: "$a", connectFromField: "a", connectToField: "a", as: "x"}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$merge: {into: "c", into: {db: "quiet", coll: "c"}}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$out: {db: null, db: "quiet", coll: "c"}}], cursor: {}}`,
		`{explain: {aggregate: "c", pipeline: [{$facet: {f: [{$unionWith: {coll: "c", coll: "system.profile"}}]}}], cursor: {}}}`,
	}},
	{name: "a name twice among users and roles", by: "tenant", db: "tenant", refused: true, cmds: []string{
		`{grantRolesToUser: "tenant", roles: [{role: "root", db: "tenant", db: "admin"}]}`,
		`{createUser: "u%d", pwd: "p", roles: [{role: "root", db: "tenant", db: "admin"}]}`,
		`{usersInfo: {user: "tenant", user: "root", db: "admin"}, showCredentials: true}`,
		`{revokeRolesFromUser: "tenant", roles: [{role: "root", db: "tenant", db: "admin"}]}`,
	}},
	{name: "a namespace that is no whole number", by: "powerless", db: "admin", refused: true, cmds: []string{
		`{bulkWrite: 1, ops: [{delete: 0.4, filter: {}}], nsInfo: [{ns: "quiet.c"}]}`,
		`{bulkWrite: 1, ops: [{insert: {$numberDouble: "NaN"}, document: {}}], nsInfo: [{ns: "quiet.system.js"}]}`,
	}},
	{name: "a collection by its UUID", by: "powerless", db: "quiet", refused: true, cmds: []string{
		`{aggregate: {$uuid: "00000000-0000-4000-8000-00000000000%d"}, pipeline: [], cursor: {}}`,
		`{explain: {aggregate: {$uuid: "00000000-0000-4000-8000-000000000001"}, pipeline: [], cursor: {}}}`,
	}},
	{name: "what others do", by: "powerless", db: "admin", refused: true, cmds: []string{
		`{currentOp: 1, $ownOps: true, $ownOps: false}`,
		`{aggregate: 1, pipeline: [{$listLocalSessions: {users: [{user: "powerless", user: "root", db: "admin"}]}}], cursor: {}}`,
	}},
}
