// Package duty has each piece of background work done by one of several processes over a store.
// A duty has a row that names who does it. Whoever wants it takes it if the row names nobody,
// or somebody whose lease with the store is over; so what a dead process did goes on elsewhere
// after its lease, without leases of the duties' own. A process whose lease was over and that has
// come back has lost all its duties, whether others have taken them or not: Guard tells in each
// transaction, and what was begun before is not committed by the store.
//
// A duty may come with a note: how far it is, which others show, and what others wish.
package duty
