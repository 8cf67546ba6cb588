package client;

import static client.Areas.equal;
import static client.Areas.that;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.group;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.lookup;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.newAggregation;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.sort;
import static org.springframework.data.mongodb.core.aggregation.Aggregation.unwind;
import static org.springframework.data.mongodb.core.query.Criteria.where;
import static org.springframework.data.mongodb.core.query.Query.query;

import com.mongodb.client.MongoClient;
import com.mongodb.client.model.changestream.FullDocument;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.bson.Document;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.Version;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.data.mongodb.MongoDatabaseFactory;
import org.springframework.data.mongodb.MongoTransactionManager;
import org.springframework.data.mongodb.config.AbstractMongoClientConfiguration;
import org.springframework.data.mongodb.core.BulkOperations.BulkMode;
import org.springframework.data.mongodb.core.FindAndModifyOptions;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.index.CompoundIndex;
import org.springframework.data.mongodb.core.index.Indexed;
import org.springframework.data.mongodb.core.mapping.DocumentReference;
import org.springframework.data.mongodb.core.messaging.ChangeStreamRequest;
import org.springframework.data.mongodb.core.messaging.DefaultMessageListenerContainer;
import org.springframework.data.mongodb.core.query.Update;
import org.springframework.data.mongodb.repository.Aggregation;
import org.springframework.data.mongodb.repository.MongoRepository;
import org.springframework.data.mongodb.repository.Query;
import org.springframework.data.mongodb.repository.config.EnableMongoRepositories;
import org.springframework.transaction.support.TransactionTemplate;

/** Spring Data MongoDB: templates and repositories. */
final class Spring {
  private static final String DB = "clients_spring";

  @org.springframework.data.mongodb.core.mapping.Document("authors")
  record Author(@Id String id, String name) {}

  record Note(String text, int stars) {}

  @org.springframework.data.mongodb.core.mapping.Document("books")
  @CompoundIndex(name = "by_pages", def = "{'pages': -1, 'title': 1}")
  static class Book {
    @Id String id;
    @Version Long version;
    @Indexed(unique = true) String title;
    int pages;
    List<String> tags = new ArrayList<>();
    List<Note> notes = new ArrayList<>();
    @DocumentReference Author author;

    Book(String title, int pages) {
      this.title = title;
      this.pages = pages;
    }
  }

  interface Books extends MongoRepository<Book, String> {
    List<Book> findByPagesGreaterThanAndTagsContaining(int pages, String tag);

    Slice<Book> findByPagesLessThan(int pages, PageRequest page);

    @Query("{'notes.text': ?0}")
    Book noted(String text);

    @Aggregation(pipeline = {"{$match: {tags: ?0}}", "{$group: {_id: null, n: {$sum: '$pages'}}}"})
    long pagesOf(String tag);

    long deleteByTitle(String title);
  }

  @Configuration
  @EnableMongoRepositories(considerNestedRepositories = true)
  static class Config extends AbstractMongoClientConfiguration {
    static MongoClient client;

    @Override
    protected String getDatabaseName() {
      return DB;
    }

    @Override
    public MongoClient mongoClient() {
      return client;
    }

    @Override
    protected boolean autoIndexCreation() {
      return true;
    }

    @Override
    protected Set<Class<?>> getInitialEntitySet() {
      return Set.of(Author.class, Book.class);
    }

    @Bean
    MongoTransactionManager transactionManager(MongoDatabaseFactory factory) {
      return new MongoTransactionManager(factory);
    }
  }

  private interface Check {
    void run(AnnotationConfigApplicationContext context, MongoTemplate template, Books books) throws Exception;
  }

  private static void area(String name, Check check) {
    Areas.area("spring", name, client -> {
      Config.client = client;
      try (var context = new AnnotationConfigApplicationContext(Config.class)) {
        check.run(context, context.getBean(MongoTemplate.class), context.getBean(Books.class));
      }
    });
  }

  static void all() {
    area("connect", (context, template, books) -> {
      equal(template.getDb().getName(), DB);
      equal(template.executeCommand("{ping: 1}").get("ok"), 1.0);
    });

    area("crud", (context, template, books) -> {
      var book = new Book("Notes", 10);
      book.author = template.insert(new Author(null, "Ada"));
      book.tags.add("math");
      book.notes.add(new Note("G", 5));
      books.save(book);
      var stale = books.findById(book.id).orElseThrow();
      equal(stale.author.name(), "Ada");
      book.pages = 11;
      equal(books.save(book).version, 1);
      try {
        books.save(stale);
        throw new AssertionError("an old version was saved");
      } catch (OptimisticLockingFailureException e) {
        // as it should be
      }
      equal(books.findByPagesGreaterThanAndTagsContaining(10, "math").size(), 1);
      equal(books.noted("G").title, "Notes");
      var update = new Update().inc("pages", 1).push("tags", "x").currentDate("seen");
      equal(template.updateFirst(query(where("title").is("Notes")), update, Book.class).getModifiedCount(), 1);
      var changed = template.findAndModify(query(where("tags").all("math", "x")), new Update().pull("tags", "x"),
          FindAndModifyOptions.options().returnNew(true), Book.class);
      equal(changed.pages + " " + changed.tags, "12 [math]");
      that(template.upsert(query(where("title").is("New")), new Update().setOnInsert("pages", 1), Book.class).getUpsertedId() != null);
      equal(books.deleteByTitle("New"), 1);
      equal(books.count(), 1);
    });

    area("bulk", (context, template, books) -> {
      var many = new ArrayList<Book>();
      for (int i = 0; i < 100; i++) many.add(new Book("t" + i, i));
      template.insertAll(many);
      var bulk = template.bulkOps(BulkMode.UNORDERED, Book.class);
      bulk.updateMulti(query(where("pages").lt(50)), new Update().addToSet("tags", "thin"));
      bulk.remove(query(where("pages").gte(90)));
      bulk.upsert(query(where("title").is("new")), new Update().set("pages", 7));
      var done = bulk.execute();
      equal(List.of(done.getModifiedCount(), done.getDeletedCount(), done.getUpserts().size()), "[50, 10, 1]");
      equal(template.findAllAndRemove(query(where("tags").is("thin")), Book.class).size(), 50);
      equal(books.count(), 41);
    });

    area("cursors", (context, template, books) -> {
      var many = new ArrayList<Book>();
      for (int i = 0; i < 250; i++) many.add(new Book("t" + i, i));
      books.saveAll(many);
      try (var stream = template.stream(query(where("pages").gte(0)).cursorBatchSize(30), Book.class)) {
        equal(stream.count(), 250);
      }
      var slice = books.findByPagesLessThan(240, PageRequest.of(1, 10, Sort.by("pages").descending()));
      equal(slice.getContent().get(0).pages + " " + slice.hasNext(), "229 true");
      var page = books.findAll(PageRequest.of(2, 100, Sort.by("pages")));
      equal(page.getTotalElements() + " " + page.getNumberOfElements(), "250 50");
    });

    area("indexes", (context, template, books) -> {
      var names = new TreeSet<String>();
      template.indexOps(Book.class).getIndexInfo().forEach(index -> names.add(index.getName()));
      equal(names, "[_id_, by_pages, title]");
      books.save(new Book("same", 1));
      try {
        books.save(new Book("same", 2));
        throw new AssertionError("a title stands twice");
      } catch (DuplicateKeyException e) {
        that(e.getMessage().contains("11000"));
      }
    });

    area("aggregation", (context, template, books) -> {
      var ada = template.insert(new Author(null, "Ada"));
      for (int i = 3; i <= 4; i++) {
        var book = new Book("t" + i, i);
        book.author = ada;
        book.tags.addAll(i == 3 ? List.of("x") : List.of("x", "y"));
        books.save(book);
      }
      var rows = template.aggregate(newAggregation(Book.class, unwind("tags"), group("tags").sum("pages").as("pages").first("author").as("author"),
          sort(Sort.by("_id")), lookup("authors", "author", "_id", "who")), Document.class).getMappedResults();
      equal(rows.size() + " " + rows.get(0).get("pages") + " " + rows.get(0).getList("who", Document.class).get(0).get("name"), "2 7 Ada");
      equal(books.pagesOf("y"), 4);
      equal(template.findDistinct("tags", Book.class, String.class), "[x, y]");
    });

    area("transactions", (context, template, books) -> {
      books.save(new Book("before", 1));
      var transaction = new TransactionTemplate(context.getBean(MongoTransactionManager.class));
      transaction.executeWithoutResult(status -> {
        books.save(new Book("kept", 1));
        template.updateFirst(query(where("title").is("before")), new Update().inc("pages", 1), Book.class);
      });
      transaction.executeWithoutResult(status -> {
        books.save(new Book("lost", 1));
        equal(books.count(), 3);
        status.setRollbackOnly();
      });
      equal(books.count(), 2);
      equal(template.findOne(query(where("title").is("before")), Book.class).pages, 2);
    });

    area("changestreams", (context, template, books) -> {
      var seen = new LinkedBlockingQueue<String>();
      var container = new DefaultMessageListenerContainer(template);
      container.start();
      try {
        // The Cosmos address wants these two stages.
        var request = ChangeStreamRequest.<Book>builder(message -> seen.add(message.getBody().title))
            .collection("books").fullDocumentLookup(FullDocument.UPDATE_LOOKUP)
            .filter(new Document("$match", new Document("operationType", new Document("$in", List.of("insert", "update", "replace")))),
                new Document("$project", new Document("_id", 1).append("fullDocument", 1).append("ns", 1).append("documentKey", 1)))
            .build();
        var subscription = container.register(request, Book.class);
        that(subscription.await(java.time.Duration.ofSeconds(30)));
        books.save(new Book("seen", 1));
        equal(seen.poll(30, TimeUnit.SECONDS), "seen");
      } finally {
        container.stop();
      }
    });
  }
}
