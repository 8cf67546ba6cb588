package command

import (
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
)

// chargeMetadata charges a command that reads or changes the catalog to the account's budget for such commands, which
// is separate from that of documents. The price is fixed, so it is charged before the command runs. A command of an
// operator pays from the allowance of operators, without a wait.
// Source: Azure Cosmos DB, "concepts-limits" (metadata requests).
// Errors: 16500 when the budget is used up.
func (c *Call) chargeMetadata() error {
	if !c.Def.Facts.Has(Metadata) {
		return nil
	}
	now := c.Cluster.Now()
	budget := c.Cluster.Budgets.Metadata()
	if !c.Op.Class.Operator {
		if t := c.Cluster.Budgets.AdmitMetadata(now); t != nil {
			return cluster.Refused(t)
		}
	}
	before := c.Op.Receipt.Total()
	c.Op.Receipt.Add(0, ratelimit.Metadata, 1)
	if price := c.Op.Receipt.Total() - before; c.Op.Class.Operator {
		c.Cluster.Budgets.ChargeOperator(now, price)
	} else {
		budget.Charge(now, price)
	}
	return nil
}
