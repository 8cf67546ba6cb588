// Package account has what is otherwise in dumps and files of an account of Azure Cosmos DB for
// MongoDB (RU), and what of it MongoDB has no counterpart for.
package account
