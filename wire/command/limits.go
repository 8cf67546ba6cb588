package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire"
)

// Limits holds the maximum sizes of requests, which hello reports to clients and the server enforces.
type Limits struct {
	// DocumentBytes is the maximum size of a document, MessageBytes that of a whole message, both in bytes.
	DocumentBytes, MessageBytes int
	// BatchStatements is the maximum number of statements in a write command.
	BatchStatements int
}

// limits holds the limits of MongoDB.
// Manual: reference/limits#mongodb-limit-Write-Command-Batch-Limit-Size.
var limits = Limits{DocumentBytes: bson.MaxDocumentBytes, MessageBytes: wire.MessageSizeMax, BatchStatements: BatchMax}

// BatchMax is the maximum number of statements in a write command, on any listener.
const BatchMax = 100_000

// Limits returns the limits at the address of the client.
func (c *Call) Limits() Limits {
	if c.Strict() {
		return cosmosLimits(c.Server.Account)
	}
	return limits
}

// BatchMax returns the maximum number of statements in a write command, for the client's listener.
func (c *Call) BatchMax() int { return c.Limits().BatchStatements }
