package histories

// Cursor is what a cursor gave within a transaction that went on writing: each document as the
// transaction saw it when the cursor was opened.
type Cursor struct {
	Opened map[int]int // the versions of the documents that it has to give
	Own    []Row       // what the transaction wrote later, to say what a wrong row is
	Rows   []Row
	Order  func(a, b Row) int // nil = none
	Ended  bool               // no further batch
}

// Judge says what is wrong.
func (c *Cursor) Judge() []string {
	var wrong found
	own := map[Row]bool{}
	for _, w := range c.Own {
		own[w] = true
	}
	seen := map[int]int{}
	for i, r := range c.Rows {
		if v, is := c.Opened[r.Key]; !is || v != r.Version {
			what := "which nobody wrote that its transaction sees"
			if own[r] {
				what = "from the future: its transaction wrote it later"
			}
			wrong.bad("row %d is document %d as version %d and not %d, %s", i, r.Key, r.Version, v, what)
		}
		if at, twice := seen[r.Key]; twice {
			wrong.bad("twice: document %d is row %d and row %d, as version %d", r.Key, at, i, r.Version)
		}
		seen[r.Key] = i
	}
	wrong.inOrder(c.Rows, c.Order)
	if !c.Ended {
		return wrong
	}
	for key := range c.Opened {
		if _, is := seen[key]; !is {
			wrong.bad("missing: document %d was there and did not come", key)
		}
	}
	return wrong
}
