package command

// strongReads reports that the command's reads cost twice: it asks for a strong
// read concern on a server that charges for them as an account with a strong
// consistency level does.
// Source: Azure Cosmos DB, "consistency-levels#consistency-levels-and-throughput".
func (c *Call) strongReads() bool {
	if !c.Server.ChargeStrongReads || c.Def.ReadConcern == OnlyLocal {
		return false
	}
	switch c.readLevel() {
	case "majority", "linearizable", "snapshot":
		return true
	}
	return false
}
