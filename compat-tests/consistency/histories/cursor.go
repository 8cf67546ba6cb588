package histories

// Cursor is the recorded result of a cursor of a transaction that writes between the batches. The cursor must return
// each document in the version that it had in the transaction when the cursor was opened.
type Cursor struct {
	Opened map[int]int // the expected versions of the documents, by key
	Own    []Row       // later writes of the transaction, to describe a wrong row
	Rows   []Row
	Order  func(a, b Row) int // nil = none
	Ended  bool               // all batches have been read
}

// Judge returns the violations.
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
