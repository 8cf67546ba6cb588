package access

import "github.com/cantledb/cantle/wire/command"

// Commands are the commands of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "authenticate", Run: s.runAuthenticate, Facts: command.Stable | command.Silent | command.Secret, Doc: "reference/command/authenticate"},
		{Name: "connectionStatus", Run: s.runConnectionStatus, Facts: command.InTxn | command.NotFirst | command.Silent, Doc: "reference/command/connectionStatus"},
		{Name: "createRole", Run: runCreateRole, Action: "createRole", Privileges: createRolePrivileges, Facts: command.Writes | command.FirstUser, Doc: "reference/command/createRole"},
		{Name: "createUser", Run: runCreateUser, Action: "createUser", Privileges: createUserPrivileges, Facts: command.Writes | command.Secret | command.FirstUser, Doc: "reference/command/createUser"},
		{Name: "dropAllRolesFromDatabase", Run: runDropAllRoles, Action: "dropRole", Facts: command.Writes, Doc: "reference/command/dropAllRolesFromDatabase"},
		{Name: "dropAllUsersFromDatabase", Run: runDropAllUsers, Action: "dropUser", Facts: command.Writes, Doc: "reference/command/dropAllUsersFromDatabase"},
		{Name: "dropRole", Run: runDropRole, Action: "dropRole", Facts: command.Writes, Doc: "reference/command/dropRole"},
		{Name: "dropUser", Run: runDropUser, Action: "dropUser", Facts: command.Writes, Doc: "reference/command/dropUser"},
		{Name: "grantPrivilegesToRole", Run: runGrantPrivileges, Action: "user", Privileges: grantToRolePrivileges, Facts: command.Writes, Doc: "reference/command/grantPrivilegesToRole"},
		{Name: "grantRolesToRole", Run: runGrantRolesToRole, Action: "user", Privileges: grantRolesPrivileges, Facts: command.Writes, Doc: "reference/command/grantRolesToRole"},
		{Name: "grantRolesToUser", Run: runGrantRolesToUser, Action: "user", Privileges: grantRolesPrivileges, Facts: command.Writes, Doc: "reference/command/grantRolesToUser"},
		{Name: "invalidateUserCache", Run: runInvalidateUserCache, Action: "invalidateUserCache", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/invalidateUserCache"},
		{Name: "logout", Run: runLogout, Facts: command.Silent, Doc: "reference/command/logout"},
		{Name: "revokePrivilegesFromRole", Run: runRevokePrivileges, Action: "user", Privileges: revokeFromRolePrivileges, Facts: command.Writes, Doc: "reference/command/revokePrivilegesFromRole"},
		{Name: "revokeRolesFromRole", Run: runRevokeRolesFromRole, Action: "user", Privileges: revokeRolesPrivileges, Facts: command.Writes, Doc: "reference/command/revokeRolesFromRole"},
		{Name: "revokeRolesFromUser", Run: runRevokeRolesFromUser, Action: "user", Privileges: revokeRolesPrivileges, Facts: command.Writes, Doc: "reference/command/revokeRolesFromUser"},
		{Name: "rolesInfo", Run: runRolesInfo, Action: "user", Privileges: s.rolesInfoPrivileges, Facts: command.Silent, Doc: "reference/command/rolesInfo"},
		{Name: "saslContinue", Run: s.runSaslContinue, Facts: command.Silent | command.Secret, Doc: "reference/command/saslContinue"},
		{Name: "saslStart", Run: s.runSaslStart, Facts: command.Silent | command.Secret, Doc: "reference/command/saslStart"},
		{Name: "updateRole", Run: runUpdateRole, Action: "user", Privileges: updateRolePrivileges, Facts: command.Writes, Doc: "reference/command/updateRole"},
		{Name: "updateUser", Run: runUpdateUser, Action: "user", Privileges: updateUserPrivileges, Facts: command.Writes | command.Secret, Doc: "reference/command/updateUser"},
		{Name: "usersInfo", Run: runUsersInfo, Action: "user", Privileges: usersInfoPrivileges, Facts: command.Silent, Doc: "reference/command/usersInfo"},
		{Name: "whatsmyuri", Run: runWhatsMyURI, Facts: command.Silent, Doc: "reference/command/whatsmyuri"},
	}
}
