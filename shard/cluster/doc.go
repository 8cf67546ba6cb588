// Package cluster is the data plane: it runs finds, pipelines and writes over
// the shards of collections.
//
//	wire/command ──► Op + arguments ──► Cluster.Find / Insert / Update / …
//	                                        │ look at the catalog, plan, route, admit
//	                                        ▼
//	                      exec operators per shard, merged   write.Target per shard
//	                                        │                       │
//	                                        ▼                       ▼
//	                                  storage.Reader           storage.Txn → commit
//
// An Op is one command's passage. Reads take a snapshot of the
// store and look whether the collection's entry changed meanwhile; if so they
// begin again. Writes pin the entry until they have committed, and look before
// the commit whether the entry is still the current one; if not they begin
// again with the new one. So nobody writes by a stale shard map.
//
// A write is one or more attempts (attempt.go), in a transaction one (txn.go); a read
// opens its plan on each shard (shards.go). Reads at another time than now go by states
// that were kept (kept_states.go) or are rewound by the change log (rewound_states.go).
// What Azure Cosmos DB does differently is in cosmos.go.
//
// Methods return the errors of storage, budgets and contexts as they are; Translate makes
// client errors of them, once, where wire/command answers. Every statement is admitted
// by the budgets before it starts and charged when it ends; Op.Receipt adds up what the
// command cost.
package cluster
