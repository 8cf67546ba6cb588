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
// An Op carries one command through the cluster. Reads take a snapshot of the
// store and check whether the collection's entry changed meanwhile; if so, they
// begin again. Writes pin the entry until they have committed, and check before
// the commit whether the entry is still current; if not, they begin
// again with the new one. So no write uses a stale shard map.
//
// A write is one or more attempts (attempt.go), or a single one in a transaction (txn.go); a read
// opens its plan on each shard (shards.go). Reads in the past use states that were kept
// (kept_states.go) or are rewound by the change log (rewound_states.go). The differences of Azure
// Cosmos DB are in cosmos.go.
//
// Methods return the errors of storage, budgets and contexts unchanged; Translate turns them into
// client errors, once, where wire/command answers. Where there are budgets, they admit a statement before
// it starts and charge it when it ends; Op.Receipt sums the charges of the command.
package cluster
