package command

// Respond begins a reply in the shape of Azure Cosmos DB, on its listener: the
// name of the response type, then ok, before the fields.
func (c *Call) Respond(kind string) {
	if c.Strict() {
		c.RespondAlways(kind)
	}
}

// RespondAlways is respond on both listeners.
func (c *Call) RespondAlways(kind string) {
	c.Reply.String("_t", kind)
	c.Reply.Double("ok", 1)
	c.hasOK = true
}
