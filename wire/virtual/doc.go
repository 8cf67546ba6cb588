// Package virtual has what is made up when it is read: collections that tell of the server
// and its cluster, and the documents of the stages that do. The rooms that know the
// answers add the rows.
package virtual
