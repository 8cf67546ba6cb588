package command

// respond begins a reply in the shape of Azure Cosmos DB, on its listener: the
// name of the response type, then ok, before the fields.
func (c *Call) respond(kind string) {
	if c.Strict() {
		c.respondAlways(kind)
	}
}

// respondAlways is respond on both listeners.
func (c *Call) respondAlways(kind string) {
	c.Reply.String("_t", kind)
	c.Reply.Double("ok", 1)
	c.hasOK = true
}
