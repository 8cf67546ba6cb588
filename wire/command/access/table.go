package access

import "github.com/cantledb/cantle/wire/command"

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "authenticate", Run: s.runAuthenticate, Facts: command.Stable | command.Silent | command.Secret, Doc: "reference/command/authenticate"},
		{Name: "connectionStatus", Run: s.runConnectionStatus, Facts: command.InTxn | command.NotFirst | command.Silent, Doc: "reference/command/connectionStatus"},
		{Name: "createRole", Parse: parseCreateRole, Action: "createRole", ArgumentActions: []string{"grantRole", "setAuthenticationRestriction", "setThroughput"}, Facts: command.Writes | command.FirstUser, Doc: "reference/command/createRole"},
		{Name: "createUser", Parse: parseCreateUser, Action: "createUser", ArgumentActions: []string{"grantRole", "setAuthenticationRestriction", "setThroughput"}, Facts: command.Writes | command.Secret | command.FirstUser, Doc: "reference/command/createUser"},
		{Name: "dropAllRolesFromDatabase", Run: runDropAllRoles, Action: "dropRole", Facts: command.Writes, Doc: "reference/command/dropAllRolesFromDatabase"},
		{Name: "dropAllUsersFromDatabase", Run: runDropAllUsers, Action: "dropUser", Facts: command.Writes, Doc: "reference/command/dropAllUsersFromDatabase"},
		{Name: "dropRole", Run: runDropRole, Action: "dropRole", Facts: command.Writes, Doc: "reference/command/dropRole"},
		{Name: "dropUser", Run: runDropUser, Action: "dropUser", Facts: command.Writes, Doc: "reference/command/dropUser"},
		{Name: "getnonce", Run: runGetNonce, Facts: command.AccountOnly | command.Silent, Doc: "cosmos"},
		{Name: "grantPrivilegesToRole", Parse: parseGrantPrivileges, Action: "user", ArgumentActions: []string{"grantRole"}, Facts: command.Writes, Doc: "reference/command/grantPrivilegesToRole"},
		{Name: "grantRolesToRole", Parse: parseGrantRolesToRole, Action: "user", ArgumentActions: []string{"grantRole"}, Facts: command.Writes, Doc: "reference/command/grantRolesToRole"},
		{Name: "grantRolesToUser", Parse: parseGrantRolesToUser, Action: "user", ArgumentActions: []string{"grantRole"}, Facts: command.Writes, Doc: "reference/command/grantRolesToUser"},
		{Name: "invalidateUserCache", Run: runInvalidateUserCache, Action: "invalidateUserCache", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/invalidateUserCache"},
		{Name: "logout", Run: runLogout, Facts: command.Silent, Doc: "reference/command/logout"},
		{Name: "revokePrivilegesFromRole", Parse: parseRevokePrivileges, Action: "user", ArgumentActions: []string{"revokeRole"}, Facts: command.Writes, Doc: "reference/command/revokePrivilegesFromRole"},
		{Name: "revokeRolesFromRole", Parse: parseRevokeRolesFromRole, Action: "user", ArgumentActions: []string{"revokeRole"}, Facts: command.Writes, Doc: "reference/command/revokeRolesFromRole"},
		{Name: "revokeRolesFromUser", Parse: parseRevokeRolesFromUser, Action: "user", ArgumentActions: []string{"revokeRole"}, Facts: command.Writes, Doc: "reference/command/revokeRolesFromUser"},
		{Name: "rolesInfo", Parse: parseRolesInfo, Action: "user", ArgumentActions: []string{"viewRole"}, Facts: command.Silent, Doc: "reference/command/rolesInfo"},
		{Name: "saslContinue", Run: s.runSaslContinue, Facts: command.Silent | command.Secret, Doc: "reference/command/saslContinue"},
		{Name: "saslStart", Run: s.runSaslStart, Facts: command.Silent | command.Secret, Doc: "reference/command/saslStart"},
		{Name: "updateRole", Parse: parseUpdateRole, Action: "user", ArgumentActions: []string{"grantRole", "revokeRole", "setAuthenticationRestriction", "setThroughput"}, Facts: command.Writes, Doc: "reference/command/updateRole"},
		{Name: "updateUser", Parse: parseUpdateUser, Action: "user", ArgumentActions: []string{"changePassword", "changeOwnPassword", "changeCustomData", "changeOwnCustomData", "grantRole", "revokeRole", "setAuthenticationRestriction", "setThroughput"}, Facts: command.Writes | command.Secret, Doc: "reference/command/updateUser"},
		{Name: "usersInfo", Parse: parseUsersInfo, Action: "user", ArgumentActions: []string{"viewUser"}, Facts: command.Silent, Doc: "reference/command/usersInfo"},
		{Name: "whatsmyuri", Run: runWhatsMyURI, Facts: command.Silent, Doc: "reference/command/whatsmyuri"},
	}
}
