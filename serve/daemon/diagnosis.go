package daemon

// What package doctor has to know of the settings.

// KeepsFiles reports whether the store is in files in the folder Data.
func (c *Config) KeepsFiles() bool {
	e, err := c.engine()
	return err == nil && e.keep == inFolder
}

// MemoryBytes is the memory that a server started now would take itself to have.
func MemoryBytes() int64 { return memoryBytes() }
