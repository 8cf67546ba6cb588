package client;

import static client.Areas.equal;
import static client.Areas.refused;
import static client.Areas.that;
import static dev.morphia.aggregation.expressions.AccumulatorExpressions.sum;
import static dev.morphia.aggregation.expressions.Expressions.field;
import static dev.morphia.aggregation.stages.Group.group;
import static dev.morphia.aggregation.stages.Group.id;
import static dev.morphia.query.filters.Filters.eq;
import static dev.morphia.query.filters.Filters.gt;
import static dev.morphia.query.updates.UpdateOperators.inc;

import com.mongodb.client.MongoClient;
import dev.morphia.Datastore;
import dev.morphia.annotations.Entity;
import dev.morphia.annotations.Id;
import dev.morphia.annotations.IndexOptions;
import dev.morphia.annotations.Indexed;
import dev.morphia.annotations.Reference;
import dev.morphia.query.FindOptions;
import dev.morphia.query.Sort;
import java.util.ArrayList;
import java.util.List;
import org.bson.types.ObjectId;

/** Morphia: documents as Java classes. */
final class Morphia {
  @Entity("authors")
  static class Author {
    @Id ObjectId id;
    String name;

    Author() {}

    Author(String name) {
      this.name = name;
    }
  }

  @Entity("books")
  static class Book {
    @Id ObjectId id;
    @Indexed(options = @IndexOptions(unique = true)) String title;
    @Indexed int pages;
    List<String> tags = new ArrayList<>();
    @Reference Author author;

    Book() {}

    Book(String title, int pages) {
      this.title = title;
      this.pages = pages;
    }
  }

  private static Datastore store(MongoClient client) {
    var store = dev.morphia.Morphia.createDatastore(client, "clients_morphia");
    store.getMapper().map(Author.class, Book.class);
    store.ensureIndexes();
    return store;
  }

  static void all() {
    Areas.area("morphia", "connect", client -> that(store(client).getDatabase().getName().equals("clients_morphia")));

    Areas.area("morphia", "crud", client -> {
      var store = store(client);
      var ada = store.save(new Author("Ada"));
      var book = new Book("Notes", 10);
      book.author = ada;
      book.tags.add("math");
      store.save(book);
      equal(store.find(Book.class).filter(eq("tags", "math")).first().author.name, "Ada");
      equal(store.find(Book.class).filter(eq("title", "Notes")).update(inc("pages")).execute().getModifiedCount(), 1);
      equal(store.find(Book.class).filter(gt("pages", 10)).count(), 1);
      equal(store.delete(book).getDeletedCount(), 1);
    });

    Areas.area("morphia", "cursors", client -> {
      var store = store(client);
      var books = new ArrayList<Book>();
      for (int i = 0; i < 250; i++) books.add(new Book("t" + i, i));
      store.save(books);
      var got = store.find(Book.class).iterator(new FindOptions().sort(Sort.descending("pages")).batchSize(20).skip(10).limit(200)).toList();
      equal(List.of(got.size(), got.get(0).pages), "[200, 239]");
    });

    Areas.area("morphia", "indexes", client -> {
      var store = store(client);
      store.save(new Book("same", 1));
      refused(11000, () -> store.save(new Book("same", 2)));
    });

    Areas.area("morphia", "aggregation", client -> {
      var store = store(client);
      store.save(List.of(new Book("a", 3), new Book("b", 4)));
      var row = store.aggregate(Book.class).group(group(id("all")).field("pages", sum(field("pages")))).execute(org.bson.Document.class).next();
      equal(row.get("pages"), 7);
    });

    Areas.area("morphia", "transactions", client -> {
      var store = store(client);
      store.withTransaction(session -> {
        session.save(new Author("in"));
        return session.find(Author.class).count();
      });
      equal(store.find(Author.class).count(), 1);
    });
  }
}
