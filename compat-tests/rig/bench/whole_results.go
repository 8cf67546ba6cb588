package main

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// count counts all documents, as drivers do for countDocuments({}).
func (c *client) count(ctx context.Context) error {
	n, err := c.coll.CountDocuments(ctx, bson.D{})
	if err == nil && n < int64(c.runner.settings.documents) {
		err = fmt.Errorf("%d documents of %d were counted", n, c.runner.settings.documents)
	}
	return err
}

// drain reads all documents.
func (c *client) drain(ctx context.Context) error {
	cursor, err := c.coll.Find(ctx, bson.D{})
	if err != nil {
		return err
	}
	return c.rows(ctx, cursor, c.runner.settings.documents)
}

// group groups all documents into a hundred groups and sums a number of each.
func (c *client) group(ctx context.Context) error {
	cursor, err := c.coll.Aggregate(ctx, mongo.Pipeline{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: bson.D{{Key: "$mod", Value: bson.A{"$number", 100}}}},
		{Key: "sum", Value: bson.D{{Key: "$sum", Value: "$plain"}}},
		{Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}},
	}}}})
	if err != nil {
		return err
	}
	return c.rows(ctx, cursor, 100)
}

// rows reads a cursor to its end and fails if it returned fewer than least documents.
func (c *client) rows(ctx context.Context, cursor *mongo.Cursor, least int) error {
	defer cursor.Close(ctx)
	n := 0
	for cursor.Next(ctx) {
		n++
	}
	if err := cursor.Err(); err != nil {
		return err
	}
	if n < least {
		return fmt.Errorf("%d rows, want %d or more", n, least)
	}
	return nil
}
