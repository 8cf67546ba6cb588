package command

// strongReads reports whether reads of the command cost twice the usual request units. They do if the server charges
// for strong reads and the read concern level, given or default, is majority, linearizable or snapshot.
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
